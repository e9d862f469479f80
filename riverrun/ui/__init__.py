"""The web app's static files; no imports."""
