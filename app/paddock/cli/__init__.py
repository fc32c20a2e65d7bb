"""Say it in text: the command line. Importing it must not load Qt."""
