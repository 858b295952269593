"""What other frameworks write about a robot and its policy, read as data: a module for each kind of file.

`read_file` recognises a file by its content and gives a `Description`; `read_network` does so for what an ONNX file says
about itself. `resolve` puts one or several descriptions onto the joints of a model, and `robot/guess.py` writes the
result as robot.yaml. Nothing in a file is executed, whatever tags it has.
"""

from surefoot.robot.importing.description import Description, Value
from surefoot.robot.importing.kinds import read_content, read_file
from surefoot.robot.importing.network import Network, read_network
from surefoot.robot.importing.order import ModelJoints
from surefoot.robot.importing.resolve import Imported, resolve

__all__ = [
    "Description",
    "Imported",
    "ModelJoints",
    "Network",
    "Value",
    "read_content",
    "read_file",
    "read_network",
    "resolve",
]
