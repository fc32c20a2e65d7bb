"""The pages of the window: each module has one QWidget `Page(desk)` with `title` and `icon`."""
