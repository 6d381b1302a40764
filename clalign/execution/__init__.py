"""Computing what a run lacks: cutting work, devices, writing results."""
