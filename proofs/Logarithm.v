(** Logarithms of floats between the root of 1/2 and that of 2 (`numerics/enclosures.py`): rounding and
    polynomial together. *)

From Coq Require Import ZArith Reals Lra Lia List.
From Flocq Require Import Core Sterbenz.
From Gappa Require Import Gappa_tactic.
From Interval Require Import Tactic.
From Proofs Require Import FloatConstants Exact Enclosures Polynomials Plain.
Import ListNotations.
Open Scope R_scope.

(** The polynomial, each step rounded. *)
Definition horner_rounded (x : R) (terms : list R) : R :=
  match terms with
  | [] => 0
  | first :: rest => fold_left (fun sum term => rounded (rounded (sum * x) + term)) rest first
  end.

(** The logarithm of 1 + f, as it is computed. *)
Definition log_rounded (f : R) : R :=
  let s := rounded (f / rounded (2 + f)) in
  let z := rounded (s * s) in
  rounded (rounded (2 * s) * rounded (1 + rounded (z * horner_rounded z log_terms))).

(** What the roundings of all steps make of it: checked by Gappa, whose proof Coq checks again. *)
Lemma roundings_above : forall g, 1 / 9007199254740992 <= rounded g <= 27152 / 65536 ->
  Rabs (log_rounded (rounded g) - log_series (rounded g / (2 + rounded g)))
  <= 5 / 9007199254740992 * Rabs (log_series (rounded g / (2 + rounded g))).
Proof.
  intros g G. unfold log_rounded, horner_rounded, log_series, horner, log_terms, rounded, float64 in *.
  cbn [fold_left]. rewrite Rmult_0_l, Rplus_0_l.
  gappa.
Qed.

Lemma roundings_below : forall g, - (19196 / 65536) <= rounded g <= - (1 / 9007199254740992) ->
  Rabs (log_rounded (rounded g) - log_series (rounded g / (2 + rounded g)))
  <= 5 / 9007199254740992 * Rabs (log_series (rounded g / (2 + rounded g))).
Proof.
  intros g G. unfold log_rounded, horner_rounded, log_series, horner, log_terms, rounded, float64 in *.
  cbn [fold_left]. rewrite Rmult_0_l, Rplus_0_l.
  gappa.
Qed.

(** Floats next to one. *)
Lemma away_from_one : forall m, is_float m -> m <> 1 -> / 2 < m ->
  m - 1 <= - (1 / 9007199254740992) \/ 1 / 9007199254740992 <= m - 1.
Proof.
  intros m M N H. assert (One : is_float (bpow radix2 0)).
  { apply generic_format_bpow. unfold float64, FLT_exp. simpl. lia. }
  assert (V : Valid_exp float64) by (apply FLT_exp_valid; reflexivity).
  destruct (Rlt_le_dec m 1) as [L|L]; [left|right].
  - assert (m <= pred radix2 float64 (bpow radix2 0)) by (apply pred_ge_gt; auto).
    rewrite pred_bpow in H0. change (float64 0) with (-53)%Z in H0. simpl bpow in H0. lra.
  - assert (succ radix2 float64 (bpow radix2 0) <= m) by (apply succ_le_lt; auto; simpl; lra).
    rewrite succ_eq_pos, ulp_bpow in H0 by apply bpow_ge_0.
    change (float64 (0 + 1)) with (-52)%Z in H0. simpl bpow in H0. lra.
Qed.

(** A mantissa less one is exact. *)
Lemma less_one_is_exact : forall m, is_float m -> / 2 <= m <= 2 -> rounded (m - 1) = m - 1.
Proof.
  intros m M H. apply round_generic; [apply valid_rnd_N|].
  apply sterbenz; [apply FLT_exp_valid; reflexivity|apply FLT_exp_monotone|exact M| |lra].
  change 1 with (bpow radix2 0). apply generic_format_bpow. unfold float64, FLT_exp. simpl. lia.
Qed.

Lemma series_is_long : forall s, Rabs s <= 1716 / 10000 -> Rabs s * (19 / 10) <= Rabs (log_series s).
Proof.
  intros s S. unfold log_series. rewrite !Rabs_mult, (Rabs_right 2) by lra.
  assert (9 / 10 * Rabs s <= 9 / 10 * Rabs s * 1) by lra.
  assert (19 / 20 <= Rabs (1 + s * s * horner (s * s) log_terms)).
  { unfold horner, log_terms. cbn [fold_left]. interval with (i_prec 60). }
  pose proof (Rabs_pos s). nra.
Qed.

(** The logarithm that is computed of a mantissa in [r, 2 r), r the float next to the root of 1/2, is within
    the stated error, LOG_ERROR = 8 u, of the logarithm. *)
Theorem logarithm_of_a_mantissa : forall m, is_float m -> root_half <= m <= 2 * root_half ->
  Rabs (log_rounded (rounded (m - 1)) - ln m) <= log_error * Rabs (ln m).
Proof.
  intros m M H. assert (B : 7071 / 10000 <= m <= 14143 / 10000) by (unfold root_half in H; lra).
  rewrite less_one_is_exact by (auto; lra).
  destruct (Req_dec m 1) as [->|N].
  { replace (1 - 1) with 0 by ring. rewrite ln_1.
    replace (log_rounded 0) with 0; [rewrite Rminus_0_r, Rabs_R0; lra|].
    unfold log_rounded, Rdiv. rewrite Rmult_0_l. unfold rounded at 3 4.
    rewrite !round_0 by apply valid_rnd_N.
    rewrite Rmult_0_r. unfold rounded at 2. rewrite round_0 by apply valid_rnd_N.
    rewrite Rmult_0_l. symmetry. apply round_0, valid_rnd_N. }
  destruct (mantissas_in_range m H) as [S E]. pose proof (log_polynomial _ S) as Poly. rewrite E in Poly.
  pose proof (series_is_long _ S) as Long.
  assert (F : rounded (m - 1) = m - 1) by (apply less_one_is_exact; auto; lra).
  assert (R : Rabs (log_rounded (m - 1) - log_series ((m - 1) / (2 + (m - 1))))
    <= 5 / 9007199254740992 * Rabs (log_series ((m - 1) / (2 + (m - 1))))).
  { destruct (away_from_one m M N ltac:(lra)) as [L|L].
    - pose proof (roundings_below (m - 1)) as A. rewrite F in A. apply A.
      unfold root_half in H. lra.
    - pose proof (roundings_above (m - 1)) as A. rewrite F in A. apply A.
      unfold root_half in H. lra. }
  set (s := (m - 1) / (2 + (m - 1))) in *. set (p := log_series s) in *. set (l := ln m) in *.
  set (c := log_rounded (m - 1)) in *.
  assert (T : Rabs (c - l) <= Rabs (c - p) + Rabs (l - p)).
  { replace (c - l) with ((c - p) + - (l - p)) by ring. pose proof (Rabs_triang (c - p) (- (l - p))).
    rewrite Rabs_Ropp in H0. exact H0. }
  assert (P : Rabs p <= Rabs l + Rabs (l - p)).
  { replace p with (l + - (l - p)) at 1 by ring. pose proof (Rabs_triang l (- (l - p))).
    rewrite Rabs_Ropp in H0. exact H0. }
  assert (Q : Rabs l >= 0) by (apply Rle_ge, Rabs_pos). pose proof (Rabs_pos s).
  clearbody c p l s. clear - T P Q R Poly Long H0. unfold log_error. simpl pow in *. lra.
Qed.
