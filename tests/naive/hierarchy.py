"""Value hierarchies by definition, written to be read. Never optimise this file; never import the package here."""


def is_tree(paths):
    """Lines of one length, each value once, one parent for each (level, label), one root."""
    if not paths or len({len(path) for path in paths}) != 1 or len(paths[0]) == 0:
        return False
    if len({path[0] for path in paths}) != len(paths) or len({path[-1] for path in paths}) != 1:
        return False
    for level in range(len(paths[0]) - 1):
        for one in paths:
            for other in paths:
                if one[level] == other[level] and one[level + 1] != other[level + 1]:
                    return False
    return True


def lowest_common_ancestor(paths, values):
    """The label at the lowest level at which all the values have the same label."""
    own_paths = [next(path for path in paths if path[0] == value) for value in values]
    for level in range(len(own_paths[0])):
        labels = {path[level] for path in own_paths}
        if len(labels) == 1:
            return labels.pop()
    raise ValueError("the paths have no common root")


def common_ancestor_of_groups(paths, categories, group_of_record, code_of_record, n_groups):
    """For each group: None where all is missing, the root where some is missing or none is there, else the ancestor."""
    root = paths[0][-1]
    ancestors = []
    for group in range(n_groups):
        values = set()
        for own_group, code in zip(group_of_record, code_of_record, strict=True):
            if own_group == group:
                values.add(categories[code])
        if values == {None}:
            ancestors.append(None)
        elif not values or None in values:
            ancestors.append(root)
        else:
            ancestors.append(lowest_common_ancestor(paths, values))
    return ancestors


def intervals_of(value, low, width, high, factor):
    """The half-open intervals [start, end) around a value, narrowest first, until one covers all; whole numbers."""
    starts = list(range(low, high + 1, width))
    intervals = [(start, start + width) for start in starts]
    around = []
    while len(intervals) > 1:
        around.append(next((start, end) for start, end in intervals if start <= value < end))
        chunks = [intervals[i : i + factor] for i in range(0, len(intervals), factor)]
        intervals = [(chunk[0][0], chunk[-1][1]) for chunk in chunks]
    return around
