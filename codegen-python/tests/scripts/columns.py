"""Columns as the same lines that the events of `dump.py` give."""


import warnings


def dump(module, path, shown):
    lines = []
    events = {event.name: event for event in module.EVENT.values()}
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", module.IncompleteWarning)
        of_events = module.columns(path, show_sensitive=True)
    for name, columns in of_events.items():
        event = events[name]
        attributes = [(module._attribute(param.name), param.sort) for param in event.params]
        rows = {key: column.tolist() for key, column in columns.items()}
        assert len({len(column) for column in rows.values()}) == 1, name
        for row, ticks in enumerate(rows["ticks"]):
            values = []
            for attribute, sort in attributes:
                value = rows[attribute][row]
                if hasattr(value, "tolist"):
                    value = value.tolist()
                values.append(number(shown, value, sort))
            head = f"{rows['session'][row]:x} {rows['thread'][row]} {event.code} {ticks} {rows['time_ns'][row]}"
            lines.append(" ".join([head, *values]))
    for line in lines:
        print(line)
    for warning in said:
        print(warning.message.completeness)


def number(shown, value, sort):
    """Labels are plain numbers here."""
    if "label" in sort:
        return str(value).replace(" ", "")
    return shown(value, sort)
