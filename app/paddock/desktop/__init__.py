"""Show it: the window. The only room that knows Qt."""
