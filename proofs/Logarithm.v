(** Logarithms of floats (`numerics/enclosures.py`): polynomial, exponent and all roundings together. *)

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
    5.4 u of itself of the logarithm. *)
Theorem logarithm_of_a_mantissa : forall m, is_float m -> root_half <= m <= 2 * root_half ->
  Rabs (log_rounded (rounded (m - 1)) - ln m) <= 54 / 10 * u * Rabs (ln m).
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
  clearbody c p l s. clear - T P Q R Poly Long H0. unfold u. simpl pow in *. lra.
Qed.

(** * The logarithm of m 2^e *)

Definition log_float (m : R) (e : Z) : R :=
  rounded (rounded (IZR e * log2_high) + rounded (rounded (IZR e * log2_low) + log_rounded (rounded (m - 1)))).

(** The upper part of log 2 has so few bits that its multiples are exact. *)
Lemma multiples_are_exact : forall e, (Z.abs e <= 1100)%Z -> rounded (IZR e * log2_high) = IZR e * log2_high.
Proof.
  intros e E. apply round_generic; [apply valid_rnd_N|].
  unfold log2_high. match goal with |- generic_format _ _ (_ * (IZR ?p / IZR ?q)) =>
    replace (IZR e * (IZR p / IZR q)) with (F2R (Float radix2 (e * p) (- Z.log2 q))) end.
  - apply generic_format_FLT. eexists; [reflexivity| |]; simpl; lia.
  - unfold F2R. cbn [Defs.Fnum Defs.Fexp]. rewrite mult_IZR.
    change (bpow radix2 (- Z.log2 _)) with (/ 4294967296). lra.
Qed.

(** Every positive float is such an m 2^e. The logarithm that is computed is within the stated error,
    LOG_ERROR = 8 u of itself, of its logarithm. *)
Theorem logarithm_of_a_float : forall m e, is_float m -> root_half <= m <= 2 * root_half -> (Z.abs e <= 1100)%Z ->
  Rabs (log_float m e - ln (m * bpow radix2 e)) <= log_error * Rabs (ln (m * bpow radix2 e)).
Proof.
  intros m e M H E. pose proof (logarithm_of_a_mantissa m M H) as Part.
  assert (B : 7071 / 10000 <= m <= 14143 / 10000) by (unfold root_half in H; lra).
  assert (Ln : ln (m * bpow radix2 e) = ln m + IZR e * ln 2).
  { rewrite ln_mult; [|lra|apply bpow_gt_0]. rewrite bpow_exp, ln_exp. reflexivity. }
  rewrite Ln. unfold log_float. rewrite multiples_are_exact by exact E.
  set (part := log_rounded (rounded (m - 1))) in *.
  assert (Fp : is_float part) by apply rounded_is_float.
  set (l := ln m) in *.
  assert (Small : Rabs l <= 3467 / 10000) by (unfold l; interval with (i_prec 60)).
  destruct (Z.eq_dec e 0) as [->|N].
  { assert (Zero : rounded 0 = 0) by (apply round_0, valid_rnd_N).
    rewrite !Rmult_0_l, Rplus_0_l, Zero, Rplus_0_l.
    assert (Id : rounded part = part) by (apply round_generic; [apply valid_rnd_N|exact Fp]).
    rewrite Id, Id, Rplus_0_r. apply Rle_trans with (1 := Part).
    apply Rmult_le_compat_r; [apply Rabs_pos|]. unfold u, log_error. lra. }
  assert (K : 1 <= Rabs (IZR e) <= 1100).
  { rewrite <- abs_IZR. split; apply IZR_le; lia. }
  set (k := IZR e) in *.
  pose proof log_of_two as Two.
  set (low := rounded (k * log2_low)). assert (Fl : is_float low) by apply rounded_is_float.
  pose proof (rounding_error (k * log2_low)) as E1. fold low in E1.
  pose proof (addition_error low part Fl Fp) as E2. set (inner := rounded (low + part)) in *.
  assert (Fi : is_float inner) by apply rounded_is_float.
  assert (Fk : is_float (k * log2_high)).
  { unfold k. rewrite <- multiples_are_exact by exact E. apply rounded_is_float. }
  pose proof (addition_error _ _ Fk Fi) as E3. set (result := rounded (k * log2_high + inner)) in *.
  assert (Ti : tiny <= u / 1000000).
  { unfold tiny, u. apply Rle_trans with (bpow radix2 (-90)); [apply bpow_le; lia|]. simpl bpow. lra. }
  pose proof tiny_positive as Tp.
  set (x := l + k * ln 2) in *.
  assert (Long : 6931 / 10000 * Rabs k - 3467 / 10000 <= Rabs x).
  { pose proof (Rabs_triang_inv (k * ln 2) (- l)) as T. rewrite Rabs_Ropp in T.
    replace (k * ln 2 - - l) with x in T by (unfold x; ring).
    rewrite Rabs_mult in T. assert (6931 / 10000 <= ln 2) by interval with (i_prec 60).
    rewrite (Rabs_right (ln 2)) in T by lra. pose proof (Rabs_pos k). nra. }
  (* Sizes. *)
  assert (Low2 : Rabs (k * log2_low) <= Rabs k / 1000000000).
  { rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|].
    rewrite Rabs_right; unfold log2_low; lra. }
  assert (S1 : Rabs low <= Rabs k / 900000000).
  { replace low with ((low - k * log2_low) + k * log2_low) by ring.
    pose proof (Rabs_triang (low - k * log2_low) (k * log2_low)). pose proof (Rabs_pos low).
    assert (Rabs low <= Rabs (low - k * log2_low) + Rabs (k * log2_low)).
    { replace low with ((low - k * log2_low) + k * log2_low) at 1 by ring. apply Rabs_triang. }
    replace (low - k * log2_low + k * log2_low) with low by ring. unfold u in *. lra. }
  assert (Sp : Rabs part <= 34671 / 100000).
  { assert (Rabs part <= Rabs (part - l) + Rabs l).
    { replace part with ((part - l) + l) at 1 by ring. apply Rabs_triang. }
    unfold u in *. lra. }
  assert (Si : Rabs inner <= 34672 / 100000 + Rabs k / 800000000).
  { assert (Rabs inner <= Rabs (inner - (low + part)) + Rabs (low + part)).
    { replace inner with ((inner - (low + part)) + (low + part)) at 1 by ring. apply Rabs_triang. }
    pose proof (Rabs_triang low part). pose proof (Rabs_pos k). unfold u in *. lra. }
  assert (D : Rabs (k * (ln 2 - (log2_high + log2_low))) <= Rabs k * (1 / 2 ^ 86)).
  { rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|exact Two]. }
  assert (Sum : Rabs (result - x) <= Rabs (result - (k * log2_high + inner)) + Rabs (inner - (low + part))
    + Rabs (low - k * log2_low) + Rabs (part - l) + Rabs (k * (ln 2 - (log2_high + log2_low)))).
  { replace (result - x) with ((result - (k * log2_high + inner)) + (inner - (low + part))
      + (low - k * log2_low) + (part - l) + - (k * (ln 2 - (log2_high + log2_low)))) by (unfold x; ring).
    repeat (eapply Rle_trans; [apply Rabs_triang|]; apply Rplus_le_compat; [|rewrite ?Rabs_Ropp; lra]). lra. }
  assert (Res : Rabs result <= Rabs x + Rabs (result - x)).
  { replace result with (x + (result - x)) at 1 by ring. apply Rabs_triang. }
  simpl pow in D. clear - Sum Res E1 E2 E3 Part D Long K Small S1 Sp Si Ti Tp Low2.
  pose proof (Rabs_pos x). pose proof (Rabs_pos k). unfold u, log_error in *. lra.
Qed.
