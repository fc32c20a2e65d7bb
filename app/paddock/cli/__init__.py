"""Say it in text: the command line. Importing it must not load Qt.

Enters: words. Leaves: text, or with --json one document, on stdout; everything else on stderr; an exit code.
"""
