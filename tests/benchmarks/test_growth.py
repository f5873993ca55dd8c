"""The picture of growth: well-formed, and lines where the numbers say."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.peers.growth import growth_svg


def test_growth_in_proportion_lies_on_its_dashed_line() -> None:
    picture = ElementTree.fromstring(growth_svg({"one & only": [(1e3, 0.1), (1e4, 1.0), (1e5, 10.0)]}))
    lines = picture.findall("{*}polyline")
    places = [[tuple(map(float, place.split(","))) for place in line.attrib["points"].split()] for line in lines]
    assert places[0][0] == places[1][0]
    assert places[0][-1] == places[1][-1]
    assert len(places[0]) == 3
    assert "one & only" in [text.text for text in picture.findall("{*}text")]
