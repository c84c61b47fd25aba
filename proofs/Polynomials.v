(** The polynomials for logarithms, sines and cosines (`numerics/enclosures.py`), with their coefficients as
    they are in floats: how far they are from the functions, before any rounding of a step. *)

From Coq Require Import ZArith Reals Lra List.
From Flocq Require Import Core.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Proofs Require Import FloatConstants Plain.
Import ListNotations.
Open Scope R_scope.

(** The polynomial whose coefficients these are, the constant last. *)
Definition horner (x : R) (terms : list R) : R := fold_left (fun sum term => sum * x + term) terms 0.

(** * Logarithms *)

(** The logarithm of (1 + s) / (1 - s), as it is computed but for rounding. *)
Definition log_series (s : R) : R := 2 * s * (1 + s * s * horner (s * s) log_terms).

(** Its derivative: coefficients are multiplied by their powers. *)
Fixpoint by_powers (power : R) (terms : list R) : list R :=
  match terms with
  | [] => []
  | term :: rest => power * term :: by_powers (power - 2) rest
  end.
Definition log_slope (s : R) : R := 2 * (1 + s * s * horner (s * s) (by_powers 21 log_terms)).

Lemma slope_of_series : forall s, is_derive log_series s (log_slope s).
Proof.
  intros s. unfold log_series, log_slope, horner, log_terms. simpl fold_left.
  auto_derive; [exact I|]. field.
Qed.

Lemma slope_error : forall s, Rabs s <= 1716 / 10000 -> Rabs (2 / (1 - s * s) - log_slope s) <= 1 / 2 ^ 54.
Proof.
  intros s S. unfold log_slope, horner, log_terms. simpl fold_left.
  interval with (i_taylor s, i_degree 30, i_bisect s, i_prec 100).
Qed.

Lemma between : forall s t, Rmin 0 s <= t <= Rmax 0 s -> Rabs t <= Rabs s.
Proof.
  intros s t. unfold Rmin, Rmax, Rabs.
  destruct (Rle_dec 0 s), (Rcase_abs s), (Rcase_abs t); lra.
Qed.

(** It is off by at most a quarter of 2^-53 of what it is, about 2 s; with rounding the program allows 8. *)
Theorem log_polynomial : forall s, Rabs s <= 1716 / 10000 ->
  Rabs (ln ((1 + s) / (1 - s)) - log_series s) <= 1 / 2 ^ 54 * Rabs s.
Proof.
  intros s S.
  destruct (MVT_gen (fun t => ln ((1 + t) / (1 - t)) - log_series t) 0 s
    (fun t => 2 / (1 - t * t) - log_slope t)) as [c [C E]].
  - intros t T. apply (is_derive_minus (fun t => ln ((1 + t) / (1 - t))) log_series).
    + assert (Rabs t <= 1716 / 10000).
      { apply Rle_trans with (2 := S). apply between. lra. }
      apply Rabs_le_inv in H.
      auto_derive; [split; [intro; lra|]; split; [apply Rdiv_lt_0_compat; lra|exact I]|].
      field. repeat split; intro; nra.
    + apply slope_of_series.
  - intros t T. apply continuity_pt_filterlim.
    apply (continuous_minus (fun t => ln ((1 + t) / (1 - t))) log_series).
    + assert (Rabs t <= 1716 / 10000).
      { apply Rle_trans with (2 := S). apply between. lra. }
      apply Rabs_le_inv in H.
      apply (ex_derive_continuous (fun t => ln ((1 + t) / (1 - t)))). auto_derive.
      split; [intro; lra|]. split; [apply Rdiv_lt_0_compat; lra|exact I].
    + apply (ex_derive_continuous log_series). eexists. apply slope_of_series.
  - assert (Z : ln ((1 + 0) / (1 - 0)) - log_series 0 = 0).
    { unfold log_series. replace ((1 + 0) / (1 - 0)) with 1 by field. rewrite ln_1. ring. }
    rewrite Z, !Rminus_0_r in E. rewrite E, Rabs_mult.
    apply Rmult_le_compat_r; [apply Rabs_pos|]. apply slope_error.
    apply Rle_trans with (2 := S). apply between, C.
Qed.

(** Mantissas lie in [r, 2 r), r the float next to the root of 1/2: then s is in that range. *)
Theorem mantissas_in_range : forall m, root_half <= m <= 2 * root_half ->
  Rabs ((m - 1) / (2 + (m - 1))) <= 1716 / 10000 /\
  (1 + (m - 1) / (2 + (m - 1))) / (1 - (m - 1) / (2 + (m - 1))) = m.
Proof.
  intros m M. unfold root_half in M. split.
  - interval with (i_bisect m, i_autodiff m, i_prec 60).
  - field. repeat split; intro; lra.
Qed.

(** The two parts of log 2. *)
Theorem log_of_two : Rabs (ln 2 - (log2_high + log2_low)) <= 1 / 2 ^ 86.
Proof. unfold log2_high, log2_low. interval with (i_prec 120). Qed.

(** * Sines and cosines *)

Definition sine_series (y : R) : R := y + y * (y * y * horner (y * y) sine_terms).
Definition cosine_series (y : R) : R := 1 + y * y * horner (y * y) cosine_terms.

Theorem sine_polynomial : forall y, Rabs y <= PI / 4 + 1 / 2 ^ 52 -> Rabs (sin y - sine_series y) <= 1 / 2 ^ 56.
Proof.
  intros y Y. assert (B : -7854 / 10000 <= y <= 7854 / 10000).
  { assert (PI / 4 + 1 / 2 ^ 52 <= 7854 / 10000) by interval with (i_prec 60).
    apply Rabs_le_inv in Y. lra. }
  unfold sine_series, horner, sine_terms. simpl fold_left.
  interval with (i_taylor y, i_degree 25, i_bisect y, i_prec 100).
Qed.

Theorem cosine_polynomial : forall y, Rabs y <= PI / 4 + 1 / 2 ^ 52 -> Rabs (cos y - cosine_series y) <= 1 / 2 ^ 56.
Proof.
  intros y Y. assert (B : -7854 / 10000 <= y <= 7854 / 10000).
  { assert (PI / 4 + 1 / 2 ^ 52 <= 7854 / 10000) by interval with (i_prec 60).
    apply Rabs_le_inv in Y. lra. }
  unfold cosine_series, horner, cosine_terms. simpl fold_left.
  interval with (i_taylor y, i_degree 25, i_bisect y, i_prec 100).
Qed.
