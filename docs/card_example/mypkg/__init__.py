"""A rule, a function, a captum method and a zennit composite, each with a share that the gate watches."""
