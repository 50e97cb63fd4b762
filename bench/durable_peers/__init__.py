"""One program for each peer that keeps a thread across processes; environments.py starts them."""
