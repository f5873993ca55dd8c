"""The five pages of the web app, one file each."""
