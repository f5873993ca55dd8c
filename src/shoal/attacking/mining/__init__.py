"""Knowledge found in the data: rules such as "no man has ovarian cancer", which an adversary may know too."""
