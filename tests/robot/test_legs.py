"""Joints of the same part of a leg belong together."""

from surefoot.robot.legs import joint_types


class TestJointTypes:
    def test_joints_of_the_same_part_are_together(self, robot):
        types = joint_types(robot)
        assert sorted(k for joints in types.values() for k in joints) == list(range(robot.contract.n_joints))
        assert len(types) == 3
        for label, joints in types.items():
            assert len(joints) == len(robot.feet)
            assert all(robot.contract.joints[k].endswith(label) for k in joints)
