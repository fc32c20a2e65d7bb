"""Launch: what is asked of llama.cpp, what it costs, what stands in the way."""

from paddock.desktop.pages.launch.page import LaunchPage

__all__ = ["LaunchPage"]
