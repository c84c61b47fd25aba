(** Sums of integers in floats that are exact, in any order. *)

From Coq Require Import ZArith Reals Lra Lia List.
From Flocq Require Import Core.
From Proofs Require Import Constants.
Open Scope Z_scope.

(** Numbers in float64, but for overflow: 53 bits, no exponent below -1074, rounded to the nearest, ties
    to even. *)
Definition float64 : Z -> Z := FLT_exp (-1074) 53.
Definition rounded (x : R) : R := round radix2 float64 ZnearestE x.

(** Integers of up to 53 bits are floats. *)
Theorem integers_are_floats : forall n, Z.abs n <= 2 ^ 53 -> rounded (IZR n) = IZR n.
Proof.
  intros n N. unfold rounded. apply round_generic; [apply valid_rnd_N|].
  destruct (Z.eq_dec (Z.abs n) (2 ^ 53)) as [E|E].
  - assert (IZR n = bpow radix2 53 \/ IZR n = - bpow radix2 53)%R as [-> | ->].
    { change (bpow radix2 53) with (IZR (2 ^ 53)). rewrite <- opp_IZR.
      destruct (Z.abs_spec n) as [[_ H]|[_ H]]; [left|right]; f_equal; lia. }
    + apply generic_format_FLT_bpow; unfold Prec_gt_0; lia.
    + apply generic_format_opp, generic_format_FLT_bpow; unfold Prec_gt_0; lia.
  - apply generic_format_FLT. exists (Float radix2 n 0); simpl; [|lia|lia].
    unfold F2R. simpl. ring.
Qed.

(** Additions in any order: a tree of them, whose leaves are the integers that are added. *)
Inductive additions := Number (n : Z) | Plus (a b : additions).

Fixpoint exact_sum (t : additions) : Z :=
  match t with Number n => n | Plus a b => exact_sum a + exact_sum b end.
Fixpoint sizes (t : additions) : Z :=
  match t with Number n => Z.abs n | Plus a b => sizes a + sizes b end.
Fixpoint float_sum (t : additions) : R :=
  match t with Number n => IZR n | Plus a b => rounded (float_sum a + float_sum b) end.

Lemma sum_in_sizes : forall t, Z.abs (exact_sum t) <= sizes t.
Proof. induction t; simpl; lia. Qed.

(** Where all sizes together are at most 2^53, the order of additions, threads and blocks do not show. *)
Theorem float_sums_are_exact : forall t, sizes t <= 2 ^ 53 -> float_sum t = IZR (exact_sum t).
Proof.
  induction t as [n|a IHa b IHb]; intros S; simpl in *; [reflexivity|].
  pose proof (sum_in_sizes a). pose proof (sum_in_sizes b).
  rewrite IHa, IHb, <- plus_IZR by lia. apply integers_are_floats. lia.
Qed.

(** A block of records on the grid: so many rows, each with integers of at most 2^30 + 1. *)
Theorem block_is_exact : grid_rows * (2 ^ grid_bits + 1) <= 2 ^ 53.
Proof. vm_compute. discriminate. Qed.

(** A block of rows of a step of descent, each a slope times a feature. *)
Theorem gradient_block_is_exact : gradient_block * (2 ^ slope_bits * 2 ^ feature_bits) <= 2 ^ 53.
Proof. vm_compute. discriminate. Qed.

(** Values of functions at a record: coefficients of 2^15 at most, times features. *)
Theorem values_are_exact : 2 ^ (point_bits + 15) * 2 ^ feature_bits <= 2 ^ 53.
Proof. vm_compute. discriminate. Qed.

(** Digits of the product of integers of any size: a row's products add up in 64 bits. *)
Definition digit_bits (columns : Z) : Z := (61 - (Z.log2 columns + 1)) / 2.

Theorem digits_fit : forall columns, 1 <= columns < 2 ^ 59 ->
  columns * (2 ^ digit_bits columns * 2 ^ digit_bits columns) < 2 ^ 62.
Proof.
  intros columns C. unfold digit_bits.
  set (k := Z.log2 columns + 1). set (b := (61 - k) / 2).
  assert (K : 0 <= k <= 61).
  { assert (Z.log2 columns < 59) by (apply Z.log2_lt_pow2; lia).
    pose proof (Z.log2_nonneg columns). subst k. lia. }
  assert (columns < 2 ^ k) by (apply Z.log2_spec; lia).
  assert (B : 0 <= b /\ 2 * b <= 61 - k).
  { split; [apply Z.div_pos; lia|]. pose proof (Z.mul_div_le (61 - k) 2). lia. }
  rewrite <- Z.pow_add_r by lia.
  apply Z.lt_le_trans with (2 ^ k * 2 ^ (b + b)).
  - apply Z.mul_lt_mono_pos_r; [apply Z.pow_pos_nonneg; lia|assumption].
  - rewrite <- Z.pow_add_r by lia. apply Z.pow_le_mono_r; lia.
Qed.
