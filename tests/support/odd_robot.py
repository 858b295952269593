"""A robot with every kind of joint and foot that a chain can hold, for kinematics and estimates."""

from pathlib import Path

# Feet with different chains: a slide, two joints in one body, anchors and axes that are not aligned with anything, a
# zero that is not 0, bodies that are turned, joints and a ball that nobody drives, and one shape of each kind.
MODEL = """<mujoco model="odd">
  <compiler angle="radian"/>
  <asset><mesh name="wedge" vertex="0 0 0  .06 0 0  0 .05 0  .06 .05 0  0 0 .04  0 .05 .04"/></asset>
  <worldbody>
    <body name="box" pos="0 0 0.5" quat=".9 .1 -.2 .3">
      <freejoint/>
      <geom type="box" size="0.2 0.1 0.05" mass="4"/>
      <site name="imu" pos=".03 .02 .01" quat=".5 .5 -.5 .5"/>
      <body name="hip" pos=".2 .1 -.02" euler=".1 .2 -.3">
        <joint name="yaw" axis=".1 .2 1" pos=".01 -.02 .03" range="-1 1"/>
        <joint name="pitch" axis="0 1 .1" pos="-.02 .01 0" ref=".3" range="-1 1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass=".3"/>
        <body name="link" pos="0 0 -.1" euler="0 .1 .2">
          <geom type="sphere" size=".01" mass=".1"/>
          <body name="shin" pos="0 .01 -.1" euler=".1 0 0">
            <joint name="telescope" type="slide" axis="0 .1 -1" ref=".02" range="-.1 .2"/>
            <geom name="ball" type="sphere" size=".025" pos="0 .01 -.1" mass=".1"/>
            <geom name="toe" type="capsule" size=".012" fromto="0 0 -.08 .06 0 -.1" mass=".1"/>
          </body>
        </body>
      </body>
      <body name="left" pos="-.1 .15 0" euler="0 0 .5">
        <joint name="left_hip" axis="1 0 0" range="-1 1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass=".3"/>
        <body name="wrist" pos="0 0 -.2" euler=".2 .1 0">
          <joint name="loose" type="ball" pos="0 .02 .01"/>
          <geom type="sphere" size=".01" mass=".1"/>
          <body name="hand" pos="0 0 -.02" euler=".1 .1 .1">
            <joint name="spring" axis="0 1 0" pos="0 .01 0" ref=".4" range="-1 1"/>
            <geom name="block" type="box" size=".05 .02 .01" pos="0 0 -.05" euler="0 .1 .2" mass=".2"/>
          </body>
        </body>
      </body>
      <body name="right" pos="-.1 -.15 0" euler="0 .2 -.5">
        <joint name="right_hip" axis="1 0 0" range="-1 1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass=".3"/>
        <body name="wheel" pos="0 0 -.25" euler="1.6 0 0">
          <joint name="wheel" axis="0 0 1" range="-6 6"/>
          <geom name="roller" type="cylinder" size=".08 .02" mass=".2"/>
        </body>
      </body>
      <body name="tail" pos="-.25 0 0">
        <joint name="tail" axis="0 1 0" pos="0 0 .05" range="-1 1"/>
        <geom name="egg" type="ellipsoid" size=".05 .02 .03" pos="-.05 0 -.2" euler=".3 .2 .1" mass=".2"/>
      </body>
      <body name="nose" pos=".3 0 -.1">
        <joint name="nose" axis="0 1 0" range="-1 1"/>
        <geom name="wedge" type="mesh" mesh="wedge" pos="0 0 -.2" mass=".2"/>
      </body>
      <geom name="keel" type="sphere" size=".03" pos="0 0 -.3" mass=".1"/>
    </body>
  </worldbody>
</mujoco>
"""
ROBOT = """name: odd
model: odd.xml
base: box
imu: imu
feet: [shin, block, roller, egg, wedge, keel]
joints: [wheel, telescope, yaw, left_hip, pitch, right_hip, nose, tail]
pose_rad: {"*": 0.0, pitch: 0.3}
kp_nm_per_rad: 20
kd_nms_per_rad: 1
torque_limit_nm: 10
velocity_limit_rad_s: 10
action_scale_rad: 0.25
observation: [gyro, gravity, joint_position]
control_hz: 50
"""


def odd(folder: Path) -> Path:
    """Write it; the path of its robot.yaml."""
    (folder / "odd.xml").write_text(MODEL)
    (folder / "robot.yaml").write_text(ROBOT)
    return folder / "robot.yaml"
