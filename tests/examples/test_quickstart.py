"""The notebook of the examples, run from top to bottom at toy size."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUREFOOT_TOY", "1")
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return folder, notebook


def test_it_runs_from_top_to_bottom_and_leaves_its_files(executed) -> None:
    folder, _ = executed
    for name in ("day1.parquet", "fit/adaptation.json", "report.html"):
        assert (folder / name).is_file(), name


def test_results_show_as_html(executed) -> None:
    _, notebook = executed
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    for words in ("worst channels", "what the fit changed", "passes the gate", "GO", "<table"):
        assert any(words in page for page in shown), words


def test_the_committed_notebook_has_its_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    kinds = {output.output_type for cell in cells for output in cell.outputs}
    assert kinds <= {"stream", "execute_result"}  # no error, and no result that a cell shows twice
