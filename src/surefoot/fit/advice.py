"""What a log could not tell about a parameter, and which recording would."""

from surefoot.adapt import Flag, Knob

AT_BOUND_TURNS = 0.02  # nearer to its bound than this, a knob is at it
WIDE_TURNS = 1.5  # a 90 % interval that reaches this far says no more than the prior did
HALF = 0.5  # of the answer at least must come from the log

RECORDING = {
    "armature_kgm2": "quick changes of command and faster gaits accelerate the rotors more",
    "dry_friction_nm": "slow motion shows dry friction: slow walking and standing on the spot, or legs in the air with slow sweeps; shaking (torque noise) hides it",
    "viscous_friction_nms": "fast motion shows viscous friction: the highest commands the robot can follow",
    "delay_s": "sudden changes of command, recorded with exact time stamps",
    "torque_noise_nm": "more episodes of the same commands",
    "encoder_noise_rad": "standing still for some seconds in each episode",
    "velocity_noise_rad_s": "standing still for some seconds in each episode",
    "encoder_bias_rad": "standing and walking on level ground, with orientation recorded",
    "motor_strength": "hard work: a payload, a slope, the fastest gait, so that torque and not inertia decides",
    "torque_limit_nm": "hard work that reaches the limit: a payload, jumps, the fastest gait",
    "floor_friction": "hard starts, stops and turns, so that feet slip; feet that never slip say nothing of friction",
    "base_mass_kg": "squats and a changing stance; orientation and gyro recorded",
    "base_com_offset_m": "standing and slow turns on the spot, with orientation recorded",
    "kp_nm_per_rad": "known loads on a stand: gains trade against inertia and friction in every walk",
    "kd_nms_per_rad": "known loads on a stand: it trades against viscous friction in every walk",
}
MORE = "more episodes, with commands over the robot's whole range"


def flag_of(knob: Knob, turns: float, half_width: float, told: float) -> tuple[Flag, str]:
    """The flag of an answer and its reason, from its place and the half-width of its interval in turns."""
    for bound, end in ((knob.low, "lower"), (knob.high, "upper")):
        if abs(knob.turns(bound) - turns) < AT_BOUND_TURNS:
            why = f"it ended at its {end} bound, {bound:g} {knob.unit}: the truth may lie beyond, or something else is wrong that it makes up for; widen it in a priors file to see"
            return ("at its bound", why) if knob.start != bound or half_width > WIDE_TURNS else ("", "")
    if half_width > WIDE_TURNS or told < HALF:
        return "not identifiable", f"this log cannot tell; what would: {RECORDING.get(knob.parameter, MORE)}"
    return "", ""
