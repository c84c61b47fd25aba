(** Numbers that enter and leave enclosures (`numerics/enclosures.py`, `numerics/twofold.py`): integers of any
    size, uniform numbers of which the leading bits are known, scaling by powers of two, and the nearest
    integer. *)

From Coq Require Import ZArith Reals Lra Lia Psatz.
From Flocq Require Import Core Mult_error.
From Proofs Require Import FloatConstants Exact Enclosures Twofold.
Open Scope R_scope.

(** * Nearest integers *)

(** How far an integer n may be from what is enclosed, and an integer n + more from what a pair encloses. *)
Definition nearest_distance (m r : R) (n : Z) : R := rounded (Rabs (rounded (m - IZR n)) + r).
Definition pair_left (h l : R) (n : Z) : R := rounded (rounded (h - IZR n) + l).
Definition pair_distance (h l r : R) (n more : Z) : R :=
  let left := pair_left h l n in
  rounded (rounded (Rabs (rounded (left - IZR more)) + r) + rounded (unit_roundoff * Rabs left)).

(** What a subtraction may be off by, by its result. *)
Lemma difference_error : forall x y, is_float x -> is_float y ->
  Rabs (rounded (x - y) - (x - y)) <= u * Rabs (rounded (x - y)).
Proof. intros x y X Y. apply (addition_error x (- y) X). apply generic_format_opp, Y. Qed.

(** Where that is below the limit of the program, it is the nearest integer of every number enclosed. *)
Theorem nearest_is_determined : forall m r n x, is_float m -> is_float r -> is_float (IZR n) ->
  encloses m r x -> nearest_distance m r n < decided -> Rabs (x - IZR n) < 1 / 2.
Proof.
  intros m r n x M R N X D. unfold nearest_distance, encloses in *.
  assert (P : 0 <= r) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  pose proof (difference_error m (IZR n) M N) as E. set (d := rounded (m - IZR n)) in *.
  assert (Fd : is_float (Rabs d)) by (apply generic_format_abs, rounded_is_float).
  pose proof (Rabs_pos d) as D0.
  pose proof (addition_low _ _ Fd R ltac:(lra)) as L. set (s := rounded (Rabs d + r)) in *.
  assert (T : Rabs (x - IZR n) <= r + Rabs d * (1 + u)).
  { replace (x - IZR n) with ((x - m) + (d + - (d - (m - IZR n)))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). pose proof (Rabs_triang d (- (d - (m - IZR n)))) as Q.
    rewrite Rabs_Ropp in Q. unfold u in *. lra. }
  apply Rle_lt_trans with (1 := T). unfold decided, u in *. lra.
Qed.

Theorem nearest_of_a_pair_is_determined : forall h l r n more x,
  is_float h -> is_float l -> is_float r -> is_float (IZR n) -> is_float (IZR more) ->
  Rabs (h - IZR n) <= 1 / 2 -> encloses (h + l) r x -> pair_distance h l r n more < decided ->
  Rabs (x - IZR (n + more)) < 1 / 2.
Proof.
  intros h l r n more x H L R N K Near X D. unfold pair_distance, pair_left, encloses in *. rewrite plus_IZR.
  assert (P : 0 <= r) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  pose proof (difference_error h (IZR n) H N) as E1. set (first := rounded (h - IZR n)) in *.
  assert (F1 : Rabs first <= 1).
  { assert (Rabs first <= Rabs (first - (h - IZR n)) + Rabs (h - IZR n)).
    { replace first with ((first - (h - IZR n)) + (h - IZR n)) at 1 by ring. apply Rabs_triang. }
    pose proof (Rabs_pos first). unfold u in *. lra. }
  pose proof (addition_error first l (rounded_is_float _) L) as E2. set (rest := rounded (first + l)) in *.
  pose proof (difference_error rest (IZR more) (rounded_is_float _) K) as E3.
  set (d := rounded (rest - IZR more)) in *.
  assert (Fd : is_float (Rabs d)) by (apply generic_format_abs, rounded_is_float).
  pose proof (Rabs_pos d) as D0. pose proof (Rabs_pos rest) as T0.
  pose proof (addition_low _ _ Fd R ltac:(lra)) as L1.
  assert (N1 : 0 <= rounded (Rabs d + r)) by (apply rounded_not_negative; lra).
  destruct (unit_rounding (Rabs rest) T0) as [N2 L2].
  pose proof (addition_low _ _ (rounded_is_float (Rabs d + r)) (rounded_is_float (unit_roundoff * Rabs rest))
    ltac:(lra)) as L3.
  set (s := rounded (rounded (Rabs d + r) + rounded (unit_roundoff * Rabs rest))) in *.
  assert (T : Rabs (x - (IZR n + IZR more)) <= r + u * Rabs first + u * Rabs rest + Rabs d * (1 + u)).
  { replace (x - (IZR n + IZR more)) with
      ((x - (h + l)) + (- (first - (h - IZR n)) + (- (rest - (first + l)) + (- (d - (rest - IZR more)) + d)))) by ring.
    repeat (eapply Rle_trans; [apply Rabs_triang|]; rewrite ?Rabs_Ropp).
    pose proof (Rabs_triang (- (first - (h - IZR n))) (- (rest - (first + l)) + (- (d - (rest - IZR more)) + d))) as Q1.
    pose proof (Rabs_triang (- (rest - (first + l))) (- (d - (rest - IZR more)) + d)) as Q2.
    pose proof (Rabs_triang (- (d - (rest - IZR more))) d) as Q3.
    rewrite !Rabs_Ropp in *. lra. }
  apply Rle_lt_trans with (1 := T).
  assert (Ti : tiny <= u / 1000000).
  { unfold tiny, u. apply Rle_trans with (bpow radix2 (-90)); [apply bpow_le; lia|]. simpl bpow. lra. }
  unfold decided, u in *. lra.
Qed.

(** * Integers of any size *)

Definition integer_radius (middle : R) : R := outward (rounded (unit_roundoff * Rabs middle)).

(** Floats below 2^53 in size are the integers that were rounded to them. *)
Lemma small_is_exact : forall n, Rabs (rounded (IZR n)) < IZR (2 ^ 53) -> rounded (IZR n) = IZR n.
Proof.
  intros n S. apply integers_are_floats. destruct (Z_le_gt_dec (Z.abs n) (2 ^ 53)) as [L|G]; [exact L|].
  exfalso. apply (Rlt_irrefl (IZR (2 ^ 53))). apply Rle_lt_trans with (2 := S).
  assert (V : Valid_exp float64) by (apply FLT_exp_valid; reflexivity).
  apply abs_round_ge_generic; [exact V|apply valid_rnd_N| |].
  - change (IZR (2 ^ 53)) with (bpow radix2 53). apply generic_format_bpow. unfold float64, FLT_exp. simpl. lia.
  - rewrite <- abs_IZR. apply IZR_le. lia.
Qed.

Theorem integers_are_enclosed : forall n, let m := rounded (IZR n) in
  (Rabs m < IZR (2 ^ 53) -> encloses m 0 (IZR n)) /\ encloses m (integer_radius m) (IZR n).
Proof.
  intros n m. split.
  - intros S. unfold encloses, m. rewrite small_is_exact by exact S. rewrite Rminus_eq_0, Rabs_R0. lra.
  - unfold encloses, integer_radius. rewrite Rabs_minus_sym. pose proof (rounding_error (IZR n)) as E. fold m in E.
    pose proof (Rabs_pos m) as M0. destruct (unit_rounding (Rabs m) M0) as [N L]. pose proof tiny_positive.
    apply Rle_trans with (1 := E).
    apply outward_holds; [apply rounded_is_float|exact N|unfold u; lra|]. apply Rle_trans with (2 := L). unfold u in *. lra.
Qed.

(** As pairs: the upper part is an integer too, and the lower one is what it is off by, rounded. *)
Theorem integers_are_pairs : forall n whole, rounded (IZR n) = IZR whole ->
  let low := rounded (IZR (n - whole)) in
  (Rabs low < IZR (2 ^ 53) -> encloses (IZR whole + low) 0 (IZR n)) /\
  encloses (IZR whole + low) (integer_radius low) (IZR n).
Proof.
  intros n whole W low. destruct (integers_are_enclosed (n - whole)) as [A B]. fold low in A, B.
  unfold encloses in *. rewrite minus_IZR in A, B.
  replace (IZR n - (IZR whole + low)) with (IZR n - IZR whole - low) by ring. split; assumption.
Qed.

(** * Uniform numbers *)

Definition uniform_middle (k : Z) (scale : R) : R := rounded (rounded (IZR k) * scale).
Definition uniform_radius (k : Z) (scale : R) : R :=
  outward (rounded (scale + rounded (unit_roundoff * uniform_middle k scale))).

(** Floats from 1 on, and 0, are scaled exactly. *)
Lemma scaled_exactly : forall x e, is_float x -> x = 0 \/ 1 <= x -> (-1000 <= e)%Z -> is_float (x * bpow radix2 e).
Proof.
  intros x e X Size E. destruct Size as [->|One].
  { rewrite Rmult_0_l. apply generic_format_0. }
  apply mult_bpow_exact_FLT; [exact X|].
  assert (1 <= mag radix2 x)%Z; [|lia].
  apply mag_ge_bpow. rewrite Rabs_right by lra. simpl. exact One.
Qed.

Lemma rounded_integer_size : forall k, (0 <= k)%Z -> rounded (IZR k) = 0 \/ 1 <= rounded (IZR k).
Proof.
  intros k K. destruct (Z.eq_dec k 0) as [->|N]; [left; apply round_0, valid_rnd_N|right].
  apply round_ge_generic; [apply FLT_exp_valid; reflexivity|apply valid_rnd_N| |apply IZR_le; lia].
  change 1 with (bpow radix2 0). apply generic_format_bpow. unfold float64, FLT_exp. simpl. lia.
Qed.

Lemma uniform_middle_is : forall k bits, (0 <= k)%Z -> (bits <= 1000)%Z ->
  uniform_middle k (bpow radix2 (- bits)) = rounded (IZR k) * bpow radix2 (- bits).
Proof.
  intros k bits K B. apply round_generic; [apply valid_rnd_N|].
  apply scaled_exactly; [apply rounded_is_float|apply rounded_integer_size, K|lia].
Qed.

(** The number whose leading bits are k, in units of 2^-bits. *)
Theorem uniforms_are_enclosed : forall k bits x, (0 <= k)%Z -> (0 <= bits <= 1000)%Z ->
  IZR k * bpow radix2 (- bits) <= x <= (IZR k + 1) * bpow radix2 (- bits) ->
  encloses (uniform_middle k (bpow radix2 (- bits))) (uniform_radius k (bpow radix2 (- bits))) x.
Proof.
  intros k bits x K B X. unfold uniform_radius. rewrite uniform_middle_is by lia.
  set (scale := bpow radix2 (- bits)) in *.
  assert (S : 0 < scale <= 1).
  { split; [apply bpow_gt_0|]. change 1 with (bpow radix2 0). apply bpow_le. lia. }
  assert (Fs : is_float scale) by (apply generic_format_bpow; unfold float64, FLT_exp; lia).
  assert (K0 : 0 <= rounded (IZR k)) by (apply rounded_not_negative, IZR_le, K).
  pose proof (rounding_error (IZR k)) as E. rewrite (Rabs_right (rounded (IZR k))) in E by lra.
  set (m := rounded (IZR k)) in *. pose proof tiny_positive as Tiny.
  assert (M0 : 0 <= m * scale) by (apply Rmult_le_pos; lra).
  destruct (unit_rounding (m * scale) M0) as [N L].
  unfold encloses. apply Rle_trans with (scale + u * (m * scale) + 2 * tiny).
  { apply Rabs_le_inv in E.
    assert (- (u * (m * scale) + 2 * tiny) <= (IZR k - m) * scale <= u * (m * scale) + 2 * tiny).
    { split.
      - apply Rle_trans with (- (u * m + 2 * tiny) * scale); [nra|apply Rmult_le_compat_r; lra].
      - apply Rle_trans with ((u * m + 2 * tiny) * scale); [apply Rmult_le_compat_r; lra|nra]. }
    apply Rabs_le. lra. }
  pose proof (addition_low scale _ Fs (rounded_is_float (unit_roundoff * (m * scale))) ltac:(lra)) as A.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u. lra.
  - apply Rle_trans with (2 := A). unfold u in *. lra.
Qed.

(** With 64 bits more, as a pair: 32 upper bits and the other ones of the first word, and the second word. *)
Definition uniform_first (upper lower : Z) (unit : R) : R :=
  pair_sum (rounded (IZR upper * (4294967296 * unit))) (rounded (IZR lower * unit)).
Definition uniform_rest (upper lower k : Z) (unit : R) : R :=
  rounded (pair_rest (rounded (IZR upper * (4294967296 * unit))) (rounded (IZR lower * unit))
    + uniform_middle k (unit / 18446744073709551616)).
Definition uniform_pair_radius (upper lower k : Z) (unit : R) : R :=
  outward (rounded (unit / 18446744073709551616
    + rounded (unit_roundoff * rounded (uniform_middle k (unit / 18446744073709551616)
      + Rabs (uniform_rest upper lower k unit))))).

Theorem uniform_pairs_are_enclosed : forall upper lower k bits x,
  (0 <= upper < 2 ^ 32)%Z -> (0 <= lower < 2 ^ 32)%Z -> (0 <= k)%Z -> (0 <= bits <= 64)%Z ->
  let unit := bpow radix2 (- bits) in
  let start := IZR (upper * 2 ^ 32 + lower) * unit + IZR k * (unit / 18446744073709551616) in
  start <= x <= start + unit / 18446744073709551616 ->
  let first := uniform_first upper lower unit in
  let rest := uniform_rest upper lower k unit in
  encloses (pair_sum first rest + pair_rest first rest) (uniform_pair_radius upper lower k unit) x.
Proof.
  intros upper lower k bits x Hu Hl K B unit start X first rest.
  assert (Ff : is_float first) by apply rounded_is_float. assert (Fr : is_float rest) by apply rounded_is_float.
  rewrite (sums_are_exact _ _ Ff Fr).
  assert (Small : unit / 18446744073709551616 = bpow radix2 (- (bits + 64))).
  { unfold unit. replace (- (bits + 64))%Z with (- bits + -64)%Z by ring. rewrite bpow_plus. simpl (bpow radix2 (-64)).
    unfold Rdiv. reflexivity. }
  assert (Large : 4294967296 * unit = bpow radix2 (32 - bits)).
  { unfold unit. replace (32 - bits)%Z with (32 + - bits)%Z by ring. rewrite bpow_plus. reflexivity. }
  assert (Int : forall n e, (0 <= n < 2 ^ 32)%Z -> (-1000 <= e)%Z -> rounded (IZR n * bpow radix2 e) = IZR n * bpow radix2 e).
  { intros n e N E. apply round_generic; [apply valid_rnd_N|]. apply scaled_exactly; [| |exact E].
    - unfold is_float. rewrite <- (integers_are_floats n) by lia. apply rounded_is_float.
    - destruct (Z.eq_dec n 0) as [->|Z0]; [left; reflexivity|right; apply IZR_le; lia]. }
  assert (Exact : first + pair_rest (rounded (IZR upper * (4294967296 * unit))) (rounded (IZR lower * unit))
    = IZR (upper * 2 ^ 32 + lower) * unit).
  { unfold first, uniform_first. rewrite sums_are_exact by apply rounded_is_float.
    rewrite Large, Int by lia. rewrite <- Large. unfold unit. rewrite Int by lia.
    rewrite plus_IZR, mult_IZR. change (IZR (2 ^ 32)) with 4294967296. ring. }
  assert (Rounded : rest = rounded (pair_rest (rounded (IZR upper * (4294967296 * unit))) (rounded (IZR lower * unit))
    + uniform_middle k (unit / 18446744073709551616))) by reflexivity.
  set (left := pair_rest (rounded (IZR upper * (4294967296 * unit))) (rounded (IZR lower * unit))) in *.
  assert (Fl : is_float left) by apply rounded_is_float.
  unfold uniform_pair_radius. fold rest. subst start. rewrite Small in *.
  set (further := uniform_middle k (bpow radix2 (- (bits + 64)))) in *.
  assert (Ffu : is_float further) by apply rounded_is_float.
  pose proof (addition_error left further Fl Ffu) as E2. rewrite <- Rounded in E2.
  assert (Fu : further = rounded (IZR k) * bpow radix2 (- (bits + 64))) by (apply uniform_middle_is; lia).
  assert (K0 : 0 <= rounded (IZR k)) by (apply rounded_not_negative, IZR_le, K).
  pose proof (rounding_error (IZR k)) as E. rewrite (Rabs_right (rounded (IZR k))) in E by lra.
  set (m := rounded (IZR k)) in *. pose proof tiny_positive as Tiny.
  set (small := bpow radix2 (- (bits + 64))) in *.
  assert (S : 0 < small <= 1).
  { split; [apply bpow_gt_0|]. change 1 with (bpow radix2 0). apply bpow_le. lia. }
  assert (Fs : is_float small) by (apply generic_format_bpow; unfold float64, FLT_exp; lia).
  assert (F0 : 0 <= further) by (rewrite Fu; apply Rmult_le_pos; lra).
  assert (Near : - (u * further + 2 * tiny) <= IZR k * small - further <= u * further + 2 * tiny).
  { rewrite Fu. replace (IZR k * small - m * small) with ((IZR k - m) * small) by ring. apply Rabs_le_inv in E. split.
    - apply Rle_trans with (- (u * m + 2 * tiny) * small); [nra|apply Rmult_le_compat_r; lra].
    - apply Rle_trans with ((u * m + 2 * tiny) * small); [apply Rmult_le_compat_r; lra|nra]. }
  pose proof (Rabs_pos rest) as R0.
  destruct (sizes_low further (Rabs rest) Ffu (generic_format_abs _ _ _ Fr) F0 R0) as [N1 L1].
  destruct (unit_rounding _ N1) as [N2 L2].
  pose proof (addition_low small _ Fs (rounded_is_float (unit_roundoff * rounded (further + Rabs rest))) ltac:(lra)) as L3.
  unfold encloses. apply Rle_trans with (small + u * (further + Rabs rest) + 2 * tiny).
  { replace (x - (first + rest)) with
      ((x - IZR (upper * 2 ^ 32 + lower) * unit - further) + - (rest - (left + further))) by (rewrite <- Exact; ring).
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp.
    assert (Rabs (x - IZR (upper * 2 ^ 32 + lower) * unit - further) <= small + u * further + 2 * tiny).
    { apply Rabs_le. lra. }
    lra. }
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative; lra| |].
  - unfold u in *. lra.
  - apply Rle_trans with (2 := L3). unfold u in *. lra.
Qed.

(** * Powers of two *)

(** A float times a power of two is off by no more than what underflows. *)
Lemma scaling_error : forall x e, is_float x -> Rabs (rounded (x * bpow radix2 e) - x * bpow radix2 e) <= tiny.
Proof.
  intros x e X. pose proof tiny_positive as Tiny.
  destruct (Req_dec x 0) as [->|N].
  { rewrite Rmult_0_l. unfold rounded. rewrite round_0 by apply valid_rnd_N. rewrite Rminus_eq_0, Rabs_R0. lra. }
  destruct (Z_le_gt_dec (-1074 + 53 - mag radix2 x) e) as [Fine|Low].
  - replace (rounded (x * bpow radix2 e)) with (x * bpow radix2 e).
    + rewrite Rminus_eq_0, Rabs_R0. lra.
    + symmetry. apply round_generic; [apply valid_rnd_N|]. apply mult_bpow_exact_FLT; assumption.
  - assert (V : Valid_exp float64) by (apply FLT_exp_valid; reflexivity).
    pose proof (error_le_half_ulp radix2 float64 (fun n => negb (Z.even n)) (x * bpow radix2 e)) as H.
    apply Rle_trans with (1 := H). unfold float64. rewrite ulp_FLT_small; [| |].
    + unfold tiny. change (-1075)%Z with (-1 + -1074)%Z. rewrite bpow_plus. simpl (bpow radix2 (-1)). lra.
    + exact precision.
    + apply Rlt_le_trans with (bpow radix2 (mag radix2 (x * bpow radix2 e))); [apply bpow_mag_gt|].
      apply bpow_le. rewrite mag_mult_bpow by exact N. lia.
Qed.

(** `as_fraction`: an upper part that stays exact, a lower part and a radius that are scaled. *)
Definition scaled_radius (r scale : R) : R := outward (rounded (r * scale)).

Theorem scaled_pairs_are_enclosed : forall h l r e x, is_float h -> is_float l -> is_float r ->
  rounded (h * bpow radix2 e) = h * bpow radix2 e -> encloses (h + l) r x ->
  encloses (rounded (h * bpow radix2 e) + rounded (l * bpow radix2 e)) (scaled_radius r (bpow radix2 e))
    (x * bpow radix2 e).
Proof.
  intros h l r e x H L R Exact X. unfold encloses, scaled_radius in *. rewrite Exact.
  assert (P : 0 <= r) by (apply Rle_trans with (2 := X); apply Rabs_pos).
  pose proof (scaling_error l e L) as El. pose proof (scaling_error r e R) as Er.
  pose proof (bpow_gt_0 radix2 e) as S. set (s := bpow radix2 e) in *. pose proof tiny_positive as Tiny.
  assert (P' : 0 <= r * s) by (apply Rmult_le_pos; lra).
  apply Rle_trans with (r * s + tiny).
  { replace (x * s - (h * s + rounded (l * s))) with ((x - (h + l)) * s + - (rounded (l * s) - l * s)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp, Rabs_mult, (Rabs_right s) by lra.
    assert (Rabs (x - (h + l)) * s <= r * s) by (apply Rmult_le_compat_r; lra). lra. }
  apply Rabs_le_inv in Er.
  apply outward_holds; [apply rounded_is_float|apply rounded_not_negative, P'|lra|]. unfold u. lra.
Qed.
