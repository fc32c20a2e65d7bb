"""Light and dark: colours by role, type, sizes, and switching while the window is open."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTemporaryDir, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication

from paddock.desktop.colours import DATA, ROLES, TERMS
from paddock.desktop.stylesheet import stylesheet, write_images

MODES = ("system", "light", "dark")
SIZES = {"figure": 24, "title": 15, "body": 13, "note": 12, "caption": 11}
"""Pixels at a base font of 13; everything is kept as a ratio of it."""
_FIXED = {"mono": "note", "flag": "caption"}
_BASE = 13
_SMALLEST = 11

_current: Theme | None = None


class Theme(QObject):
    """The look of the application. `changed` comes after the palette and style sheet have been switched."""

    changed = Signal()

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._app = app
        self._mode = "system"
        self._scale = 1.0
        self._base: tuple[tuple[QFont, QFont, float], float] | None = None
        self._fonts: dict[tuple[str, int], QFont] = {}
        self._cache: Path | None = None
        self._temporary: QTemporaryDir | None = None
        self._applied: tuple[bool, float] | None = None
        self._system_font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        self._fixed_font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        self.dark = False
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._scheme_changed)

    # -- choosing ------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> str:
        """system, light or dark."""
        return self._mode

    @property
    def scale(self) -> float:
        """The person's factor on top of the system's font size."""
        return self._scale

    def use(self, mode: str = "system", scale: float = 1.0, cache: Path | None = None) -> None:
        """Switch to this mode and font scale; `cache` is where images for the style sheet may be written."""
        self._mode = mode if mode in MODES else "system"
        self._scale = min(2.0, max(0.8, scale))
        if cache is not None and cache != self._cache:
            self._cache, self._applied = cache, None
        hints = self._app.styleHints()
        schemes = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        wanted = schemes.get(self._mode, Qt.ColorScheme.Unknown)
        hints.setColorScheme(wanted)
        self._apply(self._mode == "dark" if wanted is not Qt.ColorScheme.Unknown else self._system_is_dark())

    def use_fonts(self, general: QFont, fixed: QFont | None = None) -> None:
        """Other fonts than the system's (screenshots and tests)."""
        self._system_font = general
        self._fixed_font = fixed or self._fixed_font
        self._applied = None
        self._apply(self.dark)

    def _system_is_dark(self) -> bool:
        return self._app.styleHints().colorScheme() == Qt.ColorScheme.Dark

    @Slot()
    def _scheme_changed(self) -> None:
        if self._mode == "system":
            self._apply(self._system_is_dark())

    def _apply(self, dark: bool) -> None:
        if self._applied == (dark, self._scale):
            return
        self._applied = (dark, self._scale)
        self.dark = dark
        # A style sheet remembers each widget's palette from when it met it, and brings that back when the widget gets
        # another parent (a page that folds). So it goes first, and meets the widgets again in their new colours.
        self._app.setStyleSheet("")
        self._app.setFont(self.font("body"))
        self._app.setPalette(self.palette())
        folder = self._folder_of_images()
        self.changed.emit()
        self._app.setStyleSheet(stylesheet(self, folder))

    def _folder_of_images(self) -> Path:
        """Where the images lie: the cache, or a temporary folder where the cache cannot be written (a full disk).

        Where neither can, the style sheet goes without them: Qt leaves an image out that is not there.
        """
        if self._cache is not None and self._wrote(self._cache):
            return self._cache
        self._temporary = self._temporary or QTemporaryDir()
        folder = Path(self._temporary.path())
        self._wrote(folder)
        return folder

    def _wrote(self, folder: Path) -> bool:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_images(self, folder)
        except OSError:
            return False
        return True

    # -- colours -------------------------------------------------------------------------------------------------

    def color(self, role: str, alpha: float = 1.0) -> QColor:
        """A role of `colours.ROLES` as it is now."""
        colour = QColor(ROLES[role][self.dark])
        colour.setAlphaF(alpha)
        return colour

    def data(self, n: int, alpha: float = 1.0) -> QColor:
        """Data colour n, counted from 1 and going round after six."""
        colour = QColor(DATA[(n - 1) % len(DATA)].fill[self.dark])
        colour.setAlphaF(alpha)
        return colour

    def on_data(self, n: int) -> QColor:
        """Text on data colour n."""
        return QColor(DATA[(n - 1) % len(DATA)].text[self.dark])

    def dash(self, n: int) -> tuple[float, ...]:
        """The dash pattern that goes with data colour n in lines; () is solid."""
        return DATA[(n - 1) % len(DATA)].dash

    def term(self, term: str) -> QColor:
        """The colour of a memory term (weights, kv, compute, draft, projector, overhead)."""
        return self.data(TERMS[term])

    def pattern_ink(self) -> QColor:
        """The lines of a pattern over a data colour."""
        return QColor(16, 19, 24, 97) if self.dark else QColor(255, 255, 255, 107)

    def palette(self) -> QPalette:
        """The application's palette: Fusion takes groove, progress and focus from Highlight, so that is the accent."""
        role = QPalette.ColorRole
        pairs = {
            role.Window: "window", role.Base: "base", role.Button: "base", role.ToolTipBase: "base",
            role.AlternateBase: "alt", role.Midlight: "hover", role.Light: "base", role.Mid: "soft", role.Dark: "edge",
            role.Shadow: "line", role.Text: "text", role.WindowText: "text", role.ButtonText: "text",
            role.ToolTipText: "text", role.BrightText: "bad", role.PlaceholderText: "text3", role.Highlight: "accent",
            role.HighlightedText: "on_accent", role.Accent: "accent", role.Link: "accent", role.LinkVisited: "accent",
        }
        palette = QPalette()
        for key, name in pairs.items():
            palette.setColor(key, self.color(name))
        disabled = QPalette.ColorGroup.Disabled
        for key in (role.Text, role.WindowText, role.ButtonText, role.HighlightedText):
            palette.setColor(disabled, key, self.color("text3"))
        palette.setColor(disabled, role.Base, self.color("alt"))
        palette.setColor(disabled, role.Highlight, self.color("edge"))
        return palette

    def view_palette(self) -> QPalette:
        """For item views: their selection is quiet, the text on it stays `text`."""
        palette = self.palette()
        for group in (QPalette.ColorGroup.Active, QPalette.ColorGroup.Inactive):
            palette.setColor(group, QPalette.ColorRole.Highlight, self.color("sel"))
            palette.setColor(group, QPalette.ColorRole.HighlightedText, self.color("text"))
        return palette

    # -- type and sizes --------------------------------------------------------------------------------------------

    @property
    def base_px(self) -> float:
        """The body text's height in logical pixels."""
        key = self._system_font, self._fixed_font, self._scale
        if self._base is None or self._base[0] != key:  # asked for hundreds of times a picture
            self._base = key, max(float(_SMALLEST), QFontInfo(self._system_font).pixelSize() * self._scale)
            self._fonts.clear()
        return self._base[1]

    def font(self, kind: str = "body", weight: int = 400) -> QFont:
        """figure, title, body, note, caption, mono (note-sized) or flag (mono, caption-sized); figures align in all."""
        size = self.font_px(_FIXED.get(kind, kind))
        known = self._fonts.get((kind, weight))
        if known is not None:
            return QFont(known)
        fixed = kind in _FIXED
        font = QFont(self._fixed_font if fixed else self._system_font)
        font.setPixelSize(size)
        font.setWeight(QFont.Weight(weight))
        if not fixed:
            font.setFeature(QFont.Tag("tnum"), 1)
        self._fonts[kind, weight] = font
        return QFont(font)

    def font_px(self, kind: str) -> int:
        """Pixel size of a kind of text; nothing is smaller than 11."""
        return max(_SMALLEST, round(SIZES[kind] * self.base_px / _BASE))

    def px(self, size: float) -> int:
        """A length of the look (drawn for a 13 px font) at the font in use."""
        return round(size * self.base_px / _BASE)


def theme() -> Theme:
    """The theme of the running application; made at the first call."""
    global _current
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        raise RuntimeError("a QApplication must exist before its theme")
    if _current is None or _current.parent() is not app:
        _current = Theme(app)
        _current.use()
    return _current
