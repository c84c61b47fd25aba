(** The tactic `interval`, computing with Coq's own integers: no axiom about those of a processor. *)

From Coq Require Import Reals.
From Interval Require Import Tactic Float.Specific_stdz Float.Specific_ops.
Module PlainFloats := SpecificFloat StdZRadix2.
Module PlainTactic := IntervalTactic PlainFloats.
Export PlainTactic.
