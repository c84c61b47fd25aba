(** Cosines and sines of 2 pi x (`numerics/enclosures.py`): reduction to a quarter, polynomials and all roundings
    together, and the radius. *)

From Coq Require Import ZArith Reals Lra Lia Psatz List.
From Flocq Require Import Core Sterbenz.
From Coquelicot Require Import Coquelicot.
From Gappa Require Import Gappa_tactic.
From Interval Require Import Tactic.
From Proofs Require Import FloatConstants Exact Enclosures Polynomials Logarithm Plain.
Import ListNotations.
Open Scope Z_scope.
Open Scope R_scope.

(** The polynomials, each step rounded. *)
Definition sine_rounded (y : R) : R :=
  let square := rounded (y * y) in
  rounded (y + rounded (y * rounded (square * horner_rounded square sine_terms))).
Definition cosine_rounded (y : R) : R :=
  let square := rounded (y * y) in rounded (1 + rounded (square * horner_rounded square cosine_terms)).

(** The angle of what is left of x beside its nearest quarter. *)
Definition angle_rounded (rest : R) : R := rounded (two_pi * rest).

(** Cosine and sine of 2 pi m, where m is next to so many quarters, and their radius. *)
Definition turn_cosine (m : R) (quarter : Z) : R :=
  let angle := angle_rounded (rounded (m - IZR quarter / 4)) in
  let part := if Z.abs (quarter - 2) =? 1 then sine_rounded angle else cosine_rounded angle in
  if quarter =? 1 then - part else if quarter =? 2 then - part else part.
Definition turn_sine (m : R) (quarter : Z) : R :=
  let angle := angle_rounded (rounded (m - IZR quarter / 4)) in
  let part := if Z.abs (quarter - 2) =? 1 then cosine_rounded angle else sine_rounded angle in
  if quarter =? 2 then - part else if quarter =? 3 then - part else part.
Definition turn_radius (r : R) : R := outward (rounded (rounded (turn_slope * r) + turn_error)).

(** What the roundings of all steps make of them: checked by Gappa, whose proof Coq checks again. *)
Lemma sine_roundings : forall g, - (51472 / 65536) <= rounded g <= 51472 / 65536 ->
  Rabs (sine_rounded (rounded g) - sine_series (rounded g)) <= 3 / 36028797018963968.
Proof.
  intros g G. unfold sine_rounded, horner_rounded, sine_series, horner, sine_terms, rounded, float64 in *.
  cbn [fold_left]. rewrite Rmult_0_l, Rplus_0_l.
  gappa.
Qed.

Lemma cosine_roundings : forall g, - (51472 / 65536) <= rounded g <= 51472 / 65536 ->
  Rabs (cosine_rounded (rounded g) - cosine_series (rounded g)) <= 5 / 36028797018963968.
Proof.
  intros g G. unfold cosine_rounded, horner_rounded, cosine_series, horner, cosine_terms, rounded, float64 in *.
  cbn [fold_left]. rewrite Rmult_0_l, Rplus_0_l.
  gappa.
Qed.

(** * Angles *)

Lemma eighth_is_float : is_float (two_pi / 8).
Proof.
  unfold two_pi, is_float. match goal with |- generic_format _ _ (IZR ?p / IZR ?q / 8) =>
    replace (IZR p / IZR q / 8) with (F2R (Float radix2 p (- Z.log2 q - 3))) end.
  - apply generic_format_FLT. eexists; [reflexivity| |]; simpl; lia.
  - unfold F2R. cbn [Defs.Fnum Defs.Fexp].
    match goal with |- _ * bpow radix2 ?e = _ => let e' := eval compute in e in change e with e' end.
    simpl bpow. lra.
Qed.

Lemma angle_in_range : forall t, Rabs t <= 1 / 8 -> Rabs (angle_rounded t) <= two_pi / 8.
Proof.
  intros t T. unfold angle_rounded. apply Rabs_le_inv in T.
  assert (V : Valid_exp float64) by (apply FLT_exp_valid; reflexivity).
  assert (P : 0 < two_pi) by (unfold two_pi; lra). apply Rabs_le. split.
  - apply round_ge_generic; [exact V|apply valid_rnd_N|apply generic_format_opp, eighth_is_float|nra].
  - apply round_le_generic; [exact V|apply valid_rnd_N|exact eighth_is_float|nra].
Qed.

Lemma angle_is_near : forall t, Rabs t <= 1 / 8 -> Rabs (angle_rounded t - 2 * PI * t) <= 108 / 100 * u.
Proof.
  intros t T. pose proof (angle_in_range t T) as A. pose proof (rounding_error (two_pi * t)) as E.
  fold (angle_rounded t) in E.
  assert (D : Rabs (two_pi * t - 2 * PI * t) <= 28 / 100 * u).
  { replace (two_pi * t - 2 * PI * t) with ((two_pi - 2 * PI) * t) by ring. rewrite Rabs_mult.
    assert (Rabs (two_pi - 2 * PI) <= 224 / 100 * u).
    { unfold two_pi, u. interval with (i_prec 120). }
    apply Rle_trans with (224 / 100 * u * (1 / 8)); [|lra].
    apply Rmult_le_compat; try apply Rabs_pos; assumption. }
  assert (Ti : tiny <= u / 1000000).
  { unfold tiny, u. apply Rle_trans with (bpow radix2 (-90)); [apply bpow_le; lia|]. simpl bpow. lra. }
  replace (angle_rounded t - 2 * PI * t) with
    ((angle_rounded t - two_pi * t) + (two_pi * t - 2 * PI * t)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). unfold two_pi, u in *. lra.
Qed.

Lemma sine_moves : forall a b, Rabs (sin a - sin b) <= Rabs (a - b).
Proof.
  intros a b. destruct (MVT_gen sin b a cos) as [c [_ E]].
  - intros x _. apply is_derive_Reals, derivable_pt_lim_sin.
  - intros x _. apply continuity_sin.
  - rewrite E, Rabs_mult. pose proof (COS_bound c). pose proof (Rabs_pos (a - b)).
    assert (Rabs (cos c) <= 1) by (apply Rabs_le; lra). nra.
Qed.

Lemma cosine_moves : forall a b, Rabs (cos a - cos b) <= Rabs (a - b).
Proof.
  intros a b. rewrite !cos_sin. apply Rle_trans with (1 := sine_moves _ _). right. f_equal. ring.
Qed.

(** For every float of at most 1/8 cosine and sine that are computed are within 2.5 u. *)
Theorem turns_of_an_eighth : forall t, Rabs t <= 1 / 8 ->
  Rabs (sine_rounded (angle_rounded t) - sin (2 * PI * t)) <= 25 / 10 * u /\
  Rabs (cosine_rounded (angle_rounded t) - cos (2 * PI * t)) <= 25 / 10 * u.
Proof.
  intros t T. pose proof (angle_in_range t T) as A. pose proof (angle_is_near t T) as N.
  assert (B : - (51472 / 65536) <= angle_rounded t <= 51472 / 65536).
  { apply Rabs_le_inv in A. unfold two_pi in A. lra. }
  assert (P : Rabs (angle_rounded t) <= PI / 4 + 1 / 2 ^ 52).
  { apply Rle_trans with (1 := A). unfold two_pi. interval with (i_prec 120). }
  pose proof (sine_polynomial _ P) as Sp. pose proof (cosine_polynomial _ P) as Cp.
  pose proof (sine_roundings (two_pi * t) B) as Sr. pose proof (cosine_roundings (two_pi * t) B) as Cr.
  fold (angle_rounded t) in Sr, Cr.
  pose proof (sine_moves (angle_rounded t) (2 * PI * t)) as Sm.
  pose proof (cosine_moves (angle_rounded t) (2 * PI * t)) as Cm.
  set (y := angle_rounded t) in *. simpl pow in Sp, Cp. split.
  - replace (sine_rounded y - sin (2 * PI * t)) with
      ((sine_rounded y - sine_series y) + (- (sin y - sine_series y) + (sin y - sin (2 * PI * t)))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _).
    pose proof (Rabs_triang (- (sin y - sine_series y)) (sin y - sin (2 * PI * t))) as Q.
    rewrite Rabs_Ropp in Q. unfold u in *. lra.
  - replace (cosine_rounded y - cos (2 * PI * t)) with
      ((cosine_rounded y - cosine_series y) + (- (cos y - cosine_series y) + (cos y - cos (2 * PI * t)))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _).
    pose proof (Rabs_triang (- (cos y - cosine_series y)) (cos y - cos (2 * PI * t))) as Q.
    rewrite Rabs_Ropp in Q. unfold u in *. lra.
Qed.

(** * Quarters *)

(** What is left beside the nearest quarter is exact. *)
Lemma rest_is_exact : forall m q, is_float m -> 0 <= m <= 1 -> Rabs (4 * m - IZR q) <= 1 / 2 ->
  (0 <= q <= 4)%Z /\ rounded (m - IZR q / 4) = m - IZR q / 4 /\ Rabs (m - IZR q / 4) <= 1 / 8.
Proof.
  intros m q M B N. apply Rabs_le_inv in N.
  assert (Q : (0 <= q <= 4)%Z).
  { split; apply Z.lt_succ_r; apply lt_IZR; [|]; rewrite ?succ_IZR; lra. }
  split; [exact Q|]. split; [|apply Rabs_le; lra].
  apply round_generic; [apply valid_rnd_N|].
  destruct (Z.eq_dec q 0) as [->|Z0].
  { replace (m - 0 / 4) with m by field. exact M. }
  assert (1 <= IZR q) by (apply IZR_le; lia).
  apply sterbenz; [apply FLT_exp_valid; reflexivity|apply FLT_exp_monotone|exact M| |lra].
  apply generic_format_FLT. exists (Float radix2 q (-2)); [|simpl; lia|simpl; lia].
  unfold F2R. simpl. lra.
Qed.

(** For every float between 0 and 1: cosine and sine that are computed are within 2.5 u. *)
Theorem turns_of_a_float : forall m q, is_float m -> 0 <= m <= 1 -> Rabs (4 * m - IZR q) <= 1 / 2 ->
  Rabs (turn_cosine m q - cos (2 * PI * m)) <= 25 / 10 * u /\
  Rabs (turn_sine m q - sin (2 * PI * m)) <= 25 / 10 * u.
Proof.
  intros m q M B N. destruct (rest_is_exact m q M B N) as [Q [Exact Small]].
  unfold turn_cosine, turn_sine. rewrite Exact.
  destruct (turns_of_an_eighth _ Small) as [S C].
  set (t := m - IZR q / 4) in *. replace (2 * PI * m) with (2 * PI * t + IZR q * (PI / 2)) by (unfold t; field).
  set (y := angle_rounded t) in *. rewrite cos_plus, sin_plus. set (s := sin (2 * PI * t)) in *.
  set (c := cos (2 * PI * t)) in *. clearbody s c y. clear t M B N Exact Small.
  assert (K : (q = 0 \/ q = 1 \/ q = 2 \/ q = 3 \/ q = 4)%Z) by lia.
  assert (Flip : forall a b e, Rabs (a - b) <= e -> Rabs (- a - - b) <= e).
  { intros a b e H. replace (- a - - b) with (- (a - b)) by ring. rewrite Rabs_Ropp. exact H. }
  destruct K as [->|[->|[->|[->| ->]]]]; simpl (Z.eqb _ _); cbv iota.
  - rewrite Rmult_0_l, cos_0, sin_0. split; [replace (c * 1 - s * 0) with c by ring; exact C|].
    replace (s * 1 + c * 0) with s by ring. exact S.
  - rewrite Rmult_1_l, cos_PI2, sin_PI2. split; [replace (c * 0 - s * 1) with (- s) by ring; apply Flip, S|].
    replace (s * 0 + c * 1) with c by ring. exact C.
  - replace (2 * (PI / 2)) with PI by field. rewrite cos_PI, sin_PI.
    split; [replace (c * -1 - s * 0) with (- c) by ring; apply Flip, C|].
    replace (s * -1 + c * 0) with (- s) by ring. apply Flip, S.
  - rewrite cos_3PI2, sin_3PI2. split; [replace (c * 0 - s * -1) with s by ring; exact S|].
    replace (s * 0 + c * -1) with (- c) by ring. apply Flip, C.
  - replace (4 * (PI / 2)) with (2 * PI) by field. rewrite cos_2PI, sin_2PI.
    split; [replace (c * 1 - s * 0) with c by ring; exact C|].
    replace (s * 1 + c * 0) with s by ring. exact S.
Qed.

Lemma turn_error_is_float : is_float turn_error.
Proof.
  unfold turn_error, is_float. match goal with |- generic_format _ _ (IZR 1 / IZR ?q) =>
    replace (IZR 1 / IZR q) with (bpow radix2 (- (Z.log2 q))) end.
  - apply generic_format_bpow. vm_compute. discriminate.
  - rewrite bpow_opp. unfold Rdiv. rewrite Rmult_1_l. f_equal.
Qed.

(** The radius holds what is computed, and what x may be. *)
Theorem turns_are_enclosed : forall m r q x, is_float m -> is_float r -> 0 <= m <= 1 ->
  Rabs (4 * m - IZR q) <= 1 / 2 -> encloses m r x ->
  encloses (turn_cosine m q) (turn_radius r) (cos (2 * PI * x)) /\
  encloses (turn_sine m q) (turn_radius r) (sin (2 * PI * x)).
Proof.
  intros m r q x M R B N X. destruct (turns_of_a_float m q M B N) as [C S]. unfold encloses in *.
  assert (P : 0 <= r) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  assert (Pi : 0 < 2 * PI <= 63 / 10) by (split; interval with (i_prec 60)).
  assert (Move : Rabs (2 * PI * x - 2 * PI * m) <= 63 / 10 * r).
  { replace (2 * PI * x - 2 * PI * m) with (2 * PI * (x - m)) by ring.
    rewrite Rabs_mult, (Rabs_right (2 * PI)) by lra.
    apply Rmult_le_compat; try apply Rabs_pos; lra. }
  assert (Enough : 63 / 10 * r + 25 / 10 * u <= turn_radius r).
  { unfold turn_radius. pose proof tiny_positive as Tiny.
    assert (U : 0 <= u) by (unfold u; lra).
    assert (A0 : 0 <= turn_slope * r) by (unfold turn_slope; lra).
    pose proof (rounded_low _ A0) as A. pose proof (rounded_not_negative _ A0).
    assert (E0 : 0 <= turn_error) by (unfold turn_error; lra).
    pose proof (addition_low _ _ (rounded_is_float (turn_slope * r)) turn_error_is_float ltac:(lra)) as D.
    apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra|lra|].
    apply Rle_trans with (2 := D). unfold turn_slope, turn_error, u in *. lra. }
  split.
  - apply Rle_trans with (2 := Enough).
    replace (cos (2 * PI * x) - turn_cosine m q) with
      ((cos (2 * PI * x) - cos (2 * PI * m)) + - (turn_cosine m q - cos (2 * PI * m))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp.
    pose proof (cosine_moves (2 * PI * x) (2 * PI * m)). lra.
  - apply Rle_trans with (2 := Enough).
    replace (sin (2 * PI * x) - turn_sine m q) with
      ((sin (2 * PI * x) - sin (2 * PI * m)) + - (turn_sine m q - sin (2 * PI * m))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp.
    pose proof (sine_moves (2 * PI * x) (2 * PI * m)). lra.
Qed.
