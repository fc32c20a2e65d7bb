"""The parts that pages are built of, by module.

basic: Label, IconLabel, button, tool_button, row, column, rule, panel, calm_view, empty_layout. marked: MarkedLabel.
scrolling: scrolling. tables: row_table.
signs: Chip, Count, Tag, StateLabel, VERDICTS, SEVERITIES, STATES. blocks: Banner, EmptyState, ProgressLine, Segments,
FixButton, Figure, PageHeader, section. memory: MemoryBar, BarValues, bar_of, Legend. hatch: fill_data, fill_other,
draw_pattern.
"""
