"""What the project is made with, and nothing that it ships."""
