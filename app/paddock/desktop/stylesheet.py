"""What Fusion leaves out: borders, segments, focus frames. Generated from the theme's roles at each switch."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddock.desktop.theme import Theme

_CHEVRONS = {"down": "M4 6l4 4 4-4", "up": "M4 10l4-4 4 4", "right": "M6 4l4 4-4 4", "check": "M3.5 8.5l3 3 6-6.5"}

_IMAGE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16"><path d="{path}" fill="none" '
    'stroke="{colour}" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)

_SHEET = Template("""
QToolTip{border:1px solid palette(mid);padding:4px 8px;color:palette(text);background:palette(base)}
QLineEdit,QPlainTextEdit,QTextEdit,QComboBox,QAbstractSpinBox{border:1px solid palette(dark);border-radius:4px;
 background:palette(base);padding:0 8px;min-height:${h26}px;selection-background-color:palette(highlight);
 selection-color:palette(highlighted-text)}
QLineEdit,QComboBox,QAbstractSpinBox{max-height:${h26}px}
QLineEdit:focus,QComboBox:focus,QAbstractSpinBox:focus{max-height:${h24}px}
QAbstractSpinBox{padding:0 2px 0 0}
QAbstractSpinBox QLineEdit,QAbstractSpinBox QLineEdit:focus{border:0;background:transparent;min-height:0;padding:0}
QComboBox QLineEdit,QComboBox QLineEdit:focus{border:0;background:transparent;min-height:0;padding:0}
QPlainTextEdit,QTextEdit{padding:4px}
QLineEdit:focus,QPlainTextEdit:focus,QTextEdit:focus,QComboBox:focus,QAbstractSpinBox:focus{
 border:2px solid palette(highlight);min-height:${h24}px}
QLineEdit:focus,QComboBox:focus{padding:0 7px}
QPlainTextEdit:focus,QTextEdit:focus{padding:3px}
QLineEdit[error="true"],QComboBox[error="true"],QAbstractSpinBox[error="true"]{border:1px solid $bad}
QLineEdit:disabled,QComboBox:disabled,QAbstractSpinBox:disabled,QPlainTextEdit:disabled{border-color:palette(shadow);
 background:palette(alternate-base);color:$text3}
QLineEdit[search="true"]{padding-left:4px}
QComboBox::drop-down{border:0;width:${h24}px}
QComboBox::down-arrow{image:url("$down");width:${h14}px;height:${h14}px}
QComboBox::down-arrow:disabled{image:url("$down_off")}
QAbstractSpinBox::up-button,QAbstractSpinBox::down-button{border:0;width:${h18}px;background:transparent}
QAbstractSpinBox::up-arrow{image:url("$up");width:${h12}px;height:${h12}px}
QAbstractSpinBox::down-arrow{image:url("$down");width:${h12}px;height:${h12}px}
QAbstractSpinBox::up-arrow:off,QAbstractSpinBox::up-arrow:disabled{image:url("$up_off")}
QAbstractSpinBox::down-arrow:off,QAbstractSpinBox::down-arrow:disabled{image:url("$down_off")}
QComboBox QAbstractItemView{border:1px solid palette(mid);background:palette(base);outline:0;padding:2px;
 selection-background-color:$sel;selection-color:$text}
QComboBox QAbstractItemView::item{min-height:${h26}px;padding:0 6px}
QPushButton,QToolButton{border:1px solid palette(mid);border-radius:4px;background:palette(base);padding:0 12px;
 min-height:${h26}px;color:palette(button-text)}
QPushButton:hover,QToolButton:hover{background:palette(midlight)}
QPushButton:pressed,QToolButton:pressed{background:$line}
QPushButton:focus,QToolButton:focus{border:2px solid palette(highlight);padding:0 11px;min-height:${h24}px}
QPushButton:disabled,QToolButton:disabled{border-color:palette(shadow);color:$text3;background:palette(alternate-base)}
QPushButton[primary="true"]{background:palette(highlight);border-color:palette(highlight);
 color:palette(highlighted-text);font-weight:600}
QPushButton[primary="true"]:hover{background:$accent_hover;border-color:$accent_hover}
QPushButton[primary="true"]:focus{border:2px solid palette(text)}
QPushButton[primary="true"]:disabled{background:palette(alternate-base);border:1px solid palette(shadow);color:$text3;
 font-weight:400}
QPushButton[big="true"],QPushButton[big="true"]:focus{min-height:${h38}px;font-size:${title}px;font-weight:600}
QPushButton[small="true"],QToolButton[small="true"]{min-height:${h22}px;padding:0 8px}
QPushButton[small="true"]:focus,QToolButton[small="true"]:focus{min-height:${h20}px;padding:0 7px}
QPushButton[square="true"],QToolButton[square="true"]{padding:0;min-width:${h26}px}
QPushButton[square="true"]:focus,QToolButton[square="true"]:focus{padding:0;min-width:${h24}px}
QPushButton[square="true"][small="true"],QToolButton[square="true"][small="true"]{min-width:${h22}px;padding:0}
QPushButton[square="true"][small="true"]:focus,QToolButton[square="true"][small="true"]:focus{min-width:${h20}px;
 padding:0}
QPushButton[quiet="true"],QToolButton[quiet="true"]{border-color:transparent;background:transparent}
QPushButton[quiet="true"]:hover,QToolButton[quiet="true"]:hover{background:palette(midlight)}
QPushButton[quiet="true"]:focus,QToolButton[quiet="true"]:focus{border-color:palette(highlight)}
QPushButton[link="true"]{border-color:transparent;background:transparent;color:palette(link);padding:0 4px}
QPushButton[link="true"]:hover{text-decoration:underline}
QPushButton[link="true"]:focus{border:2px solid palette(highlight);padding:0 3px}
QPushButton::menu-indicator,QToolButton::menu-indicator{image:none;width:0}
QFrame[segments="true"]{max-height:${h26}px;min-height:${h26}px;
 border:1px solid palette(dark);border-radius:4px;background:palette(base)}
QToolButton[segment="true"]{border:0;border-radius:0;border-right:1px solid palette(mid);background:transparent;
 padding:0 13px;min-height:${h26}px;max-height:${h26}px;color:$text2}
QToolButton[segment="true"][last="true"]{border-right:0}
QToolButton[segment="true"]:hover{background:palette(midlight)}
QToolButton[segment="true"]:checked{background:$sel;color:palette(link);font-weight:600}
QToolButton[segment="true"]:focus{border:2px solid palette(highlight);border-radius:3px;padding:0 11px;
 min-height:${h22}px;max-height:${h22}px}
QToolButton[segment="true"][tight="true"]{padding:0 4px}
QToolButton[segment="true"][tight="true"]:focus{padding:0 2px}
QToolButton[segment="true"]:disabled{color:$text3;background:palette(alternate-base)}
QCheckBox,QRadioButton{spacing:8px;min-height:${h26}px}
QCheckBox::indicator{width:${h14}px;height:${h14}px;
 border:1px solid palette(dark);border-radius:3px;background:palette(base)}
QCheckBox::indicator:checked{background:palette(highlight);border-color:palette(highlight);image:url("$check")}
QCheckBox::indicator:disabled{border-color:palette(mid);background:palette(alternate-base)}
QCheckBox::indicator:checked:disabled{image:url("$check_off")}
QCheckBox:focus{color:palette(link)}
QCheckBox::indicator:focus{border:2px solid palette(highlight);width:${h12}px;height:${h12}px}
QSlider{min-height:20px} QSlider::groove:horizontal{height:4px;background:palette(dark);border-radius:2px}
QSlider::sub-page:horizontal{background:palette(highlight);border-radius:2px}
QSlider::handle:horizontal{width:12px;margin:-6px 0;border:2px solid palette(highlight);border-radius:8px;
 background:palette(base)}
QSlider::handle:horizontal:focus{background:palette(highlight)}
QSlider::groove:horizontal:disabled,QSlider::sub-page:horizontal:disabled{background:palette(shadow)}
QSlider::handle:horizontal:disabled{border-color:palette(mid)}
QProgressBar{border:0;border-radius:3px;background:palette(shadow);max-height:6px;min-height:6px}
QProgressBar::chunk{background:palette(highlight);border-radius:3px}
QHeaderView{background:palette(window);border:0}
QHeaderView::section{background:palette(window);border:0;border-bottom:1px solid palette(shadow);padding:0 8px;
 min-height:${h27}px;color:$text2;font-size:${note}px;font-weight:400}
QAbstractItemView{border:0;outline:0;background:palette(base);alternate-background-color:palette(alternate-base)}
QAbstractItemView:focus{border:0}
QTabBar{qproperty-drawBase:0} QTabBar::tab{border:0;border-bottom:2px solid transparent;padding:0 12px;
 min-height:${h30}px;color:$text2;background:transparent}
QTabBar::tab:selected{border-color:palette(highlight);color:palette(text);font-weight:500}
QTabBar::tab:focus{color:palette(link)} QTabWidget::pane{border:0;border-top:1px solid palette(shadow)}
QMenu{border:1px solid palette(mid);background:palette(base);padding:4px}
QMenu::item{padding:4px 24px 4px 12px;min-height:20px;border-radius:3px;color:palette(text)}
QMenu::item:selected{background:$sel} QMenu::item:disabled{color:$text3}
QMenu::separator{height:1px;background:palette(shadow);margin:4px 8px} QMenu::icon{padding-left:8px}
QScrollBar:vertical{width:10px;background:transparent;margin:0}
QScrollBar:horizontal{height:10px;background:transparent}
QScrollBar::handle{background:$soft;border-radius:3px;margin:2px}
QScrollBar::handle:vertical{min-height:24px} QScrollBar::handle:horizontal{min-width:24px}
QScrollBar::handle:hover{background:palette(dark)} QScrollBar::add-line,QScrollBar::sub-line{width:0;height:0}
QScrollBar::add-page,QScrollBar::sub-page{background:transparent}
QScrollArea{border:0;background:transparent}
QSplitter::handle{background:palette(shadow)} QSplitter::handle:horizontal{width:1px}
QSplitter::handle:vertical{height:1px}
QFrame[panel="window"]{background:palette(window);border:0} QFrame[panel="base"]{background:palette(base);border:0}
QFrame[rule="true"]{background:palette(shadow);border:0}
QDialogButtonBox{dialogbuttonbox-buttons-have-icons:0} QInputDialog{min-width:${h360}px}
QDialogButtonBox QPushButton{min-width:${h60}px} QFileDialog QToolButton{padding:0;min-width:${h26}px}
QFileDialog QToolButton:focus{padding:0;min-width:${h24}px}
QFrame[box="true"]{border:1px solid palette(shadow);border-radius:6px;background:palette(base)}
""")


def write_images(theme: Theme, folder: Path) -> None:
    """Chevrons and the check mark in the theme's colours: a style sheet cannot recolour images."""
    suffix = "dark" if theme.dark else "light"
    for name, path in _CHEVRONS.items():
        on = "on_accent" if name == "check" else "text2"
        for state, role in (("", on), ("-off", "text3")):
            svg = _IMAGE.format(path=path, colour=theme.color(role).name())
            target = folder / f"{name}{state}-{suffix}.svg"
            if not target.is_file() or target.read_text("utf-8") != svg:
                target.write_text(svg, "utf-8")


def _quoted(path: Path) -> str:
    """For use between the quotes of url(""): a folder's name may hold whatever a file system allows."""
    return path.as_posix().replace("\\", "\\\\").replace('"', '\\"')


def stylesheet(theme: Theme, folder: Path) -> str:
    """The application's style sheet."""
    suffix = "dark" if theme.dark else "light"
    images = {
        f"{name}{key}": _quoted(folder / f"{name}{state}-{suffix}.svg")
        for name in _CHEVRONS for key, state in (("", ""), ("_off", "-off"))
    }
    colours = {name: theme.color(name).name() for name in ("bad", "sel", "text", "text2", "text3", "line", "soft")}
    hover = theme.color("accent").lighter(108) if theme.dark else theme.color("accent").darker(110)
    heights = {f"h{n}": str(theme.px(n)) for n in (12, 14, 18, 20, 22, 24, 26, 27, 30, 38, 60, 360)}
    return _SHEET.substitute(images | colours | heights, accent_hover=hover.name(), note=str(theme.font_px("note")),
                             title=str(theme.font_px("title")))
