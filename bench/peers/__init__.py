"""The measured machines on other libraries, each a program for an environment of its own."""
