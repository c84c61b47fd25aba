(** Sums of a Gaussian function over the integers around a place t: largest at an integer, smallest halfway, and all
    alike. No Fourier analysis: products of two sums are added up over x + y, even and odd; doubling the variance
    squares what is left of the difference; and one inequality is computed, for variances from 1/4 to 1/2. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Proofs Require Import FloatConstants Laws Shares Whole Lattice Plain.
Open Scope R_scope.

(** * Sums over all integers *)

Definition near (v t : R) (y : Z) : R := exp (- ((IZR y - t) ^ 2 / (2 * v))).
Definition all (f : Z -> R) : R := Series (folded f).
Definition summable (f : Z -> R) : Prop := (forall x, 0 <= f x) /\ ex_series (folded f).

Lemma span_below : forall f low n, summable f -> span f low n <= all f.
Proof.
  intros f low n [F E]. apply Rle_trans with (upto f (Z.to_nat (Z.abs low) + n)).
  - rewrite upto_is_span. apply span_inside; [exact F|lia|lia].
  - apply partial_below; [intros k; apply folded_not_negative, F|exact E].
Qed.

(** Whatever spans cover more and more. *)
Lemma spans_converge : forall f low n r, summable f ->
  (forall k, (low k <= r - Z.of_nat k)%Z /\ (Z.of_nat k - r < low k + Z.of_nat (n k))%Z) ->
  is_lim_seq (fun k => span f (low k) (n k)) (all f).
Proof.
  intros f low n r S C. pose proof (Series_correct _ (proj2 S)) as L. fold (all f) in L.
  change (is_lim_seq (upto f) (all f)) in L. apply is_lim_seq_spec in L. apply is_lim_seq_spec. intros e.
  destruct (L e) as [m M]. exists (m + Z.to_nat (Z.abs r))%nat. intros k K. specialize (M m (le_n m)).
  assert (upto f m <= span f (low k) (n k)).
  { rewrite upto_is_span. destruct (C k). apply span_inside; [apply S|lia|lia]. }
  pose proof (span_below f (low k) (n k) S). apply Rabs_lt_between in M. apply Rabs_lt_between.
  destruct e as [e E]. simpl in *. lra.
Qed.

Lemma same_limit : forall (s : nat -> R) (a b : R), is_lim_seq s a -> is_lim_seq s b -> a = b.
Proof. intros s a b A B. apply is_lim_seq_unique in A, B. rewrite A in B. now inversion B. Qed.

Lemma uptos_converge : forall f, ex_series (folded f) -> is_lim_seq (upto f) (all f).
Proof. intros f E. exact (Series_correct _ E). Qed.

Lemma series_shifted : forall f y, summable f -> is_series (folded (fun x => f (x - y)%Z)) (all f).
Proof.
  intros f y S. change (is_lim_seq (upto (fun x => f (x - y)%Z)) (all f)).
  apply is_lim_seq_ext with (fun k => span f (- Z.of_nat k - y) (Datatypes.S (2 * k))).
  - intros k. now rewrite upto_is_span, span_shifted.
  - apply spans_converge with (r := Z.abs y); [exact S|]. intros k. lia.
Qed.

Lemma all_shifted : forall f y, summable f -> all (fun x => f (x - y)%Z) = all f.
Proof. intros f y S. apply is_series_unique, series_shifted, S. Qed.

(** Even and odd ones. *)
Lemma all_halves : forall f, summable f ->
  ex_series (folded (fun k => f (2 * k)%Z)) -> ex_series (folded (fun k => f (2 * k + 1)%Z)) ->
  all f = all (fun k => f (2 * k)%Z) + all (fun k => f (2 * k + 1)%Z).
Proof.
  intros f S E O. apply same_limit with (fun k => span f (2 * - Z.of_nat k) (2 * Datatypes.S (2 * k))).
  - apply spans_converge with (r := 0%Z); [exact S|]. intros k. lia.
  - apply is_lim_seq_ext with (fun k => upto (fun k => f (2 * k)%Z) k + upto (fun k => f (2 * k + 1)%Z) k).
    + intros k. rewrite !upto_is_span. generalize (- Z.of_nat k)%Z as low. intros low.
      generalize (Datatypes.S (2 * k)). clear. induction n; [cbn [span Nat.mul]; simpl; ring|].
      replace (2 * Datatypes.S n)%nat with (Datatypes.S (Datatypes.S (2 * n))) by lia. cbn [span].
      rewrite <- IHn. replace (2 * low + Z.of_nat (2 * n))%Z with (2 * (low + Z.of_nat n))%Z by lia.
      replace (2 * low + Z.of_nat (Datatypes.S (2 * n)))%Z with (2 * (low + Z.of_nat n) + 1)%Z by lia. ring.
    + apply is_lim_seq_plus'; apply uptos_converge; assumption.
Qed.

(** * Gaussian functions around t *)

Lemma exp_le : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [L|L]; [left; apply exp_increasing, L|right; now rewrite L]. Qed.

Lemma near_positive : forall v t y, 0 < near v t y.
Proof. intros. apply exp_pos. Qed.

Lemma near_exists : forall v t, 0 < v -> ex_series (folded (near v t)).
Proof.
  intros v t V. apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _
    (fun n => exp (t ^ 2 / (2 * v)) * folded (bell (2 * v)) n)).
  - intros n. change (norm ?x) with (Rabs x).
    rewrite Rabs_right by (apply Rle_ge, folded_not_negative; intros; left; apply near_positive).
    rewrite <- folded_times. apply folded_le. intros y. unfold near, bell. rewrite <- exp_plus. apply exp_le.
    assert (H : 0 <= (IZR y - 2 * t) ^ 2 / (4 * v)).
    { apply Rmult_le_pos; [apply pow2_ge_0|left; apply Rinv_0_lt_compat; lra]. }
    replace (t ^ 2 / (2 * v) + - (IZR y ^ 2 / (2 * (2 * v))))
      with (- ((IZR y - t) ^ 2 / (2 * v)) + (IZR y - 2 * t) ^ 2 / (4 * v)) by (field; lra). lra.
  - apply (ex_series_scal_l (exp (t ^ 2 / (2 * v))) (folded (bell (2 * v)))), bell_sum_exists. lra.
Qed.

Lemma near_summable : forall v t, 0 < v -> summable (near v t).
Proof. intros v t V. split; [intros; left; apply near_positive|apply near_exists, V]. Qed.

Lemma around_is_all : forall v t, around v t = all (near v t).
Proof. reflexivity. Qed.

Lemma around_positive : forall v t, 0 < v -> 0 < around v t.
Proof.
  intros v t V. apply Rlt_le_trans with (sum_n (folded (near v t)) 0).
  - rewrite sum_O. apply near_positive.
  - apply partial_below; [intros k; apply folded_not_negative; intros; left; apply near_positive|apply near_exists, V].
Qed.

Lemma around_shifted : forall v t m, 0 < v -> around v (t + IZR m) = around v t.
Proof.
  intros v t m V. rewrite !around_is_all, <- (all_shifted (near v t) m) by apply near_summable, V.
  assert (H : forall x, near v (t + IZR m) x = near v t (x - m)%Z).
  { intros x. unfold near. rewrite minus_IZR.
    replace (IZR x - (t + IZR m)) with (IZR x - IZR m - t) by ring. reflexivity. }
  apply Series_ext. intros [|n]; cbn [folded]; now rewrite !H.
Qed.

Definition law_near (v t : R) (y : Z) : R := / around v t * near v t y.

Lemma law_near_adds_up : forall v t, 0 < v -> adds_up_both_ways (law_near v t).
Proof.
  intros v t V. pose proof (around_positive v t V) as P. split.
  - intros y. apply Rmult_le_pos; [left; apply Rinv_0_lt_compat, P|left; apply near_positive].
  - replace 1 with (/ around v t * around v t) by (field; lra).
    apply is_series_ext with (fun n => / around v t * folded (near v t) n).
    + intros n. now rewrite <- folded_times.
    + apply (is_series_scal_l (/ around v t) (folded (near v t))), Series_correct, near_exists, V.
Qed.

(** Two sums, multiplied: over x + y first. *)
Theorem sums_multiply : forall w t s, 0 < w ->
  around (2 * w) t * around (2 * w) s
  = around w ((t + s) / 2) * around w ((t - s) / 2) + around w ((t + s + 1) / 2) * around w ((t - s + 1) / 2).
Proof.
  intros w t s W. assert (V : 0 < 2 * w) by lra.
  pose proof (around_positive _ t V) as T. pose proof (around_positive _ s V) as S.
  set (c := around (2 * w) t * around (2 * w) s). assert (C : 0 < c) by (apply Rmult_lt_0_compat; assumption).
  set (f := fun x : Z => near (4 * w) (t + s) x * around w ((IZR x + t - s) / 2)).
  assert (E : forall x, sum_law (law_near (2 * w) t) (law_near (2 * w) s) x = / c * f x).
  { intros x. unfold sum_law, f. rewrite around_is_all. unfold all. rewrite <- !Series_scal_l. apply Series_ext.
    intros n. rewrite <- !folded_times.
    assert (M : forall y, law_near (2 * w) t y * law_near (2 * w) s (x - y)%Z
      = / c * (near (4 * w) (t + s) x * near w ((IZR x + t - s) / 2) y)).
    { intros y. unfold law_near. transitivity (/ c * (near (2 * w) t y * near (2 * w) s (x - y)%Z)).
      - unfold c. field. lra.
      - f_equal. unfold near. rewrite <- !exp_plus, minus_IZR. f_equal. field. lra. }
    destruct n; cbn [folded]; rewrite !M; reflexivity. }
  pose proof (sums_add_up _ _ (law_near_adds_up _ t V) (law_near_adds_up _ s V)) as [_ One].
  assert (Sf : is_series (folded f) c).
  { replace c with (c * 1) by ring.
    apply is_series_ext with (fun n => c * folded (sum_law (law_near (2 * w) t) (law_near (2 * w) s)) n).
    - intros n. rewrite <- folded_times. destruct n; cbn [folded]; rewrite !E; of_reals; field; lra.
    - apply (is_series_scal_l c (folded (sum_law (law_near (2 * w) t) (law_near (2 * w) s)))), One. }
  assert (Sum : summable f).
  { split; [|exists c; exact Sf]. intros x. apply Rmult_le_pos; left; [apply near_positive|apply around_positive, W]. }
  assert (Even : forall k : Z, f (2 * k)%Z = around w ((t - s) / 2) * near w ((t + s) / 2) k).
  { intros k. unfold f. replace ((IZR (2 * k) + t - s) / 2) with ((t - s) / 2 + IZR k) by (rewrite mult_IZR; field).
    rewrite around_shifted by exact W. rewrite Rmult_comm. f_equal. unfold near. rewrite mult_IZR.
    f_equal. field. lra. }
  assert (Odd : forall k : Z, f (2 * k + 1)%Z = around w ((t - s + 1) / 2) * near w ((t + s - 1) / 2) k).
  { intros k. unfold f. replace ((IZR (2 * k + 1) + t - s) / 2) with ((t - s + 1) / 2 + IZR k)
      by (rewrite plus_IZR, mult_IZR; field).
    rewrite around_shifted by exact W. rewrite Rmult_comm. f_equal. unfold near. rewrite plus_IZR, mult_IZR.
    f_equal. field. lra. }
  assert (Part : forall u (g : Z -> R) b, (forall k, g k = b * near w u k) ->
    ex_series (folded g) /\ all g = b * around w u).
  { intros u g b G. assert (H : forall n, b * folded (near w u) n = folded g n).
    { intros n. rewrite <- folded_times. destruct n; cbn [folded]; now rewrite !G. }
    split.
    - apply ex_series_ext with (fun n => b * folded (near w u) n); [exact H|].
      apply (ex_series_scal_l b (folded (near w u))), near_exists, W.
    - unfold all. rewrite <- (Series_ext _ _ H). apply Series_scal_l. }
  destruct (Part _ _ _ Even) as [Ee Ae]. destruct (Part _ _ _ Odd) as [Eo Ao].
  transitivity (all f); [symmetry; apply is_series_unique, Sf|]. rewrite (all_halves f Sum Ee Eo), Ae, Ao.
  replace ((t + s + 1) / 2) with ((t + s - 1) / 2 + 1) by field. rewrite (around_shifted w ((t + s - 1) / 2) 1 W). ring.
Qed.

(** * Within constants of each other *)

Lemma into_unit : forall t, exists m, 0 <= t + IZR m <= 1.
Proof.
  intros t. exists (1 - up t)%Z. destruct (archimed t). rewrite minus_IZR. lra.
Qed.

Lemma near_farther : forall v t s x y, 0 < v -> Rabs (IZR x - t) <= Rabs (IZR y - s) -> near v s y <= near v t x.
Proof.
  intros v t s x y V L. apply exp_le, Ropp_le_contravar, Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
  apply Rsqr_le_abs_1 in L. unfold Rsqr in L. simpl. lra.
Qed.

Lemma near_at_most_one : forall v t y, 0 < v -> near v t y <= 1.
Proof.
  intros v t y V. rewrite <- exp_0. apply exp_le.
  assert (0 <= (IZR y - t) ^ 2 / (2 * v)); [|lra].
  apply Rmult_le_pos; [apply pow2_ge_0|left; apply Rinv_0_lt_compat; lra].
Qed.

Ltac distances := rewrite ?opp_IZR; repeat match goal with |- context [IZR (Z.of_nat (S ?k))] =>
    rewrite <- (INR_IZR_INZ (S k)) end; rewrite ?S_INR;
  match goal with |- context [INR ?k] => pose proof (pos_INR k) end; unfold Rabs; repeat destruct Rcase_abs; lra.

Lemma around_bounded : forall v t, 0 < v -> around v t <= 1 + 2 * around v 0.
Proof.
  intros v t V. destruct (into_unit t) as [m M]. rewrite <- (around_shifted v t m V).
  set (u := t + IZR m) in *. rewrite !around_is_all. unfold all at 1.
  rewrite Series_incr_1 by apply near_exists, V.
  apply Rplus_le_compat; [apply near_at_most_one, V|]. unfold all. rewrite <- Series_scal_l. apply Series_le.
  - intros k. split; [apply folded_not_negative; intros; left; apply near_positive|].
    assert (Z0' : near v 0 0 = 1).
    { unfold near. replace (- ((0 - 0) ^ 2 / (2 * v))) with 0 by (field; lra). apply exp_0. }
    destruct k.
    + cbn [folded]. rewrite Z0'. pose proof (near_at_most_one v u (Z.of_nat 1) V).
      pose proof (near_at_most_one v u (- Z.of_nat 1) V). lra.
    + assert (A : near v u (Z.of_nat (S (S k))) <= near v 0 (Z.of_nat (S k))).
      { apply near_farther; [exact V|]. distances. }
      assert (B : near v u (- Z.of_nat (S (S k))) <= near v 0 (- Z.of_nat (S k))).
      { apply near_farther; [exact V|]. distances. }
      cbn [folded]. pose proof (near_positive v 0 (Z.of_nat (S k))). pose proof (near_positive v 0 (- Z.of_nat (S k))). lra.
  - apply (ex_series_scal_l 2 (folded (near v 0))), near_exists, V.
Qed.

Lemma around_bounded_below : forall v t, 0 < v -> around v (1 / 2) - 3 <= around v t.
Proof.
  intros v t V. destruct (into_unit t) as [m M]. rewrite <- (around_shifted v t m V).
  set (u := t + IZR m) in *. rewrite !around_is_all. unfold all.
  pose proof (near_exists v u V) as Eu. pose proof (near_exists v (1 / 2) V) as Eh.
  rewrite (Series_incr_1 (folded (near v u))) by exact Eu.
  rewrite (Series_incr_1 (folded (near v (1 / 2)))) by exact Eh.
  rewrite (Series_incr_1 (fun k => folded (near v (1 / 2)) (S k))) by (apply ex_series_incr_1 in Eh; exact Eh).
  assert (L : Series (fun k => folded (near v (1 / 2)) (S (S k))) <= Series (fun k => folded (near v u) (S k))).
  { apply Series_le; [|apply ex_series_incr_1 in Eu; exact Eu]. intros k. split.
    - apply folded_not_negative; intros; left; apply near_positive.
    - cbn [folded]. apply Rplus_le_compat; apply near_farther; try exact V; distances. }
  cbn [folded] in *. pose proof (near_at_most_one v (1 / 2) 0 V). pose proof (near_at_most_one v (1 / 2) (Z.of_nat 1) V).
  pose proof (near_at_most_one v (1 / 2) (- Z.of_nat 1) V). pose proof (near_positive v u 0). lra.
Qed.

(** * Largest at an integer *)

Lemma ratio_to_fourth : forall v t, 0 < v -> around v t ^ 4 <= around v (2 * t) * around v 0 ^ 3.
Proof.
  intros v t V. set (w := v / 2). assert (W : 0 < w) by (unfold w; lra). replace v with (2 * w) by (unfold w; field).
  pose proof (sums_multiply w t t W) as A. pose proof (sums_multiply w (2 * t) 0 W) as B.
  pose proof (sums_multiply w 0 0 W) as C.
  replace ((t + t) / 2) with t in A by field. replace ((t - t) / 2) with 0 in A by field.
  replace ((t + t + 1) / 2) with (t + 1 / 2) in A by field. replace ((t - t + 1) / 2) with (1 / 2) in A by field.
  replace ((2 * t + 0) / 2) with t in B by field. replace ((2 * t - 0) / 2) with t in B by field.
  replace ((2 * t + 0 + 1) / 2) with (t + 1 / 2) in B by field. replace ((2 * t - 0 + 1) / 2) with (t + 1 / 2) in B by field.
  replace ((0 + 0) / 2) with 0 in C by field. replace ((0 - 0) / 2) with 0 in C by field.
  replace ((0 + 0 + 1) / 2) with (1 / 2) in C by field. replace ((0 - 0 + 1) / 2) with (1 / 2) in C by field.
  set (x := around (2 * w) t) in *. set (y := around (2 * w) (2 * t)) in *. set (z := around (2 * w) 0) in *.
  set (P := around w t) in *. set (Q := around w (t + 1 / 2)) in *. set (p := around w 0) in *. set (q := around w (1 / 2)) in *.
  replace (x ^ 4) with ((x * x) * (x * x)) by ring. replace (y * z ^ 3) with ((y * z) * (z * z)) by ring.
  rewrite A, B, C. pose proof (pow2_ge_0 (P * q - Q * p)). nra.
Qed.

Lemma one_and_more : forall n x, 0 <= x -> 1 + INR n * x <= (1 + x) ^ n.
Proof.
  induction n; intros x X; [simpl; lra|]. rewrite S_INR. cbn [pow]. specialize (IHn x X).
  pose proof (pos_INR n). apply Rle_trans with ((1 + x) * (1 + INR n * x)); [nra|]. apply Rmult_le_compat_l; lra.
Qed.

Theorem around_is_largest : forall v t, 0 < v -> around v t <= around v 0.
Proof.
  intros v t V. pose proof (around_positive v 0 V) as Z. set (z := around v 0) in *.
  destruct (Rle_or_lt (around v t) z) as [H|H]; [exact H|exfalso].
  set (r := around v t / z). assert (R : 1 < r) by (apply Rmult_lt_reg_r with z; [exact Z|unfold r; field_simplify; lra]).
  assert (P : forall n, r ^ (4 ^ n) <= around v (2 ^ n * t) / z).
  { induction n; [simpl; rewrite !Rmult_1_r, ?Rmult_1_l; unfold r; lra|].
    replace (4 ^ S n)%nat with (4 ^ n * 4)%nat by (simpl; lia). rewrite pow_mult.
    set (y := around v (2 ^ n * t)) in *. pose proof (ratio_to_fourth v (2 ^ n * t) V) as F. fold y z in F.
    replace (2 * (2 ^ n * t)) with (2 ^ S n * t) in F by (simpl; ring). set (y' := around v (2 ^ S n * t)) in *.
    apply Rle_trans with ((y / z) ^ 4).
    - apply pow_incr. split; [apply pow_le; lra|exact IHn].
    - apply Rmult_le_reg_r with (z ^ 4); [apply pow_lt, Z|].
      replace ((y / z) ^ 4 * z ^ 4) with (y ^ 4) by (field; lra).
      replace (y' / z * z ^ 4) with (y' * z ^ 3) by (field; lra). exact F. }
  set (b := (1 + 2 * z) / z).
  assert (B : forall n, INR n * (r - 1) <= b).
  { intros n. apply Rle_trans with (r ^ n).
    - pose proof (one_and_more n (r - 1) ltac:(lra)) as O. replace (1 + (r - 1)) with r in O by ring. lra.
    - apply Rle_trans with (r ^ (4 ^ n)).
      + apply Rle_pow; [lra|]. apply Nat.lt_le_incl, Nat.pow_gt_lin_r. lia.
      + apply Rle_trans with (1 := P n). apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Z|].
        apply around_bounded, V. }
  destruct (archimed (b / (r - 1))) as [Up _]. specialize (B (Z.to_nat (Z.max 0 (up (b / (r - 1)))))).
  rewrite INR_IZR_INZ, Z2Nat.id in B by lia.
  assert (IZR (up (b / (r - 1))) <= IZR (Z.max 0 (up (b / (r - 1))))) by (apply IZR_le; lia).
  assert (b < IZR (up (b / (r - 1))) * (r - 1)); [|nra].
  apply Rmult_lt_reg_r with (/ (r - 1)); [apply Rinv_0_lt_compat; lra|].
  replace (IZR (up (b / (r - 1))) * (r - 1) * / (r - 1)) with (IZR (up (b / (r - 1)))) by (field; lra). exact Up.
Qed.

(** * Smallest halfway *)

Lemma halfway_doubled : forall w, 0 < w -> around (2 * w) (1 / 2) ^ 2 = 2 * around w 0 * around w (1 / 2).
Proof.
  intros w W. pose proof (sums_multiply w (1 / 2) (1 / 2) W) as A.
  replace ((1 / 2 + 1 / 2) / 2) with (1 / 2) in A by field. replace ((1 / 2 - 1 / 2) / 2) with 0 in A by field.
  replace ((1 / 2 + 1 / 2 + 1) / 2) with (0 + 1) in A by field. replace ((1 / 2 - 1 / 2 + 1) / 2) with (1 / 2) in A by field.
  rewrite (around_shifted w 0 1 W) in A. simpl. lra.
Qed.

Lemma halves_multiply : forall w t, 0 < w ->
  2 * around w t * around w (t + 1 / 2) = around (2 * w) (2 * t + 1 / 2) * around (2 * w) (1 / 2).
Proof.
  intros w t W. rewrite (sums_multiply w (2 * t + 1 / 2) (1 / 2) W).
  replace ((2 * t + 1 / 2 + 1 / 2) / 2) with (t + 1 / 2) by field. replace ((2 * t + 1 / 2 - 1 / 2) / 2) with t by field.
  replace ((2 * t + 1 / 2 + 1 / 2 + 1) / 2) with (t + 1) by field.
  replace ((2 * t + 1 / 2 - 1 / 2 + 1) / 2) with (t + 1 / 2) by field. rewrite (around_shifted w t 1 W). ring.
Qed.

Theorem around_is_smallest : forall v t, 0 < v -> around v (1 / 2) <= around v t.
Proof.
  assert (Down : forall n v e, 0 < v -> 0 <= e -> (forall t, (1 - e) * around (2 ^ n * v) (1 / 2) <= around (2 ^ n * v) t) ->
    forall t, (1 - e) * around v (1 / 2) <= around v t).
  { induction n; intros v e V E0 H t; [simpl in H; rewrite Rmult_1_l in H; apply H|].
    revert t. apply IHn; try assumption. set (w := 2 ^ n * v) in *.
    assert (W : 0 < w) by (apply Rmult_lt_0_compat; [apply pow_lt; lra|exact V]).
    replace (2 ^ S n * v) with (2 * w) in H by (unfold w; simpl; ring). intros t.
    pose proof (around_is_largest w (t + 1 / 2) W) as L. pose proof (around_positive w (t + 1 / 2) W) as P.
    pose proof (halves_multiply w t W) as M. pose proof (halfway_doubled w W) as D.
    specialize (H (2 * t + 1 / 2)). pose proof (around_positive (2 * w) (1 / 2) ltac:(lra)) as Pb.
    pose proof (around_positive w t W) as Pt. pose proof (around_positive w (1 / 2) W) as Ph.
    set (a := around w 0) in *. set (b := around w (1 / 2)) in *. set (x := around w t) in *.
    set (y := around w (t + 1 / 2)) in *. set (b' := around (2 * w) (1 / 2)) in *.
    set (s := around (2 * w) (2 * t + 1 / 2)) in *. clearbody a b x y b' s. clear IHn.
    assert (F : (1 - e) * (2 * a * b) <= 2 * x * y).
    { rewrite M, <- D. replace ((1 - e) * b' ^ 2) with ((1 - e) * b' * b') by ring. apply Rmult_le_compat_r; lra. }
    assert (G : x * y <= x * a) by (apply Rmult_le_compat_l; lra).
    apply Rmult_le_reg_r with a; lra. }
  intros v t V. apply Rnot_lt_le. intros Less.
  pose proof (around_positive v (1 / 2) V) as Pb. set (b := around v (1 / 2)) in *.
  assert (Grow : forall n, b * (1 + INR n * (2 / 5)) <= around (2 ^ n * v) (1 / 2)).
  { intros n. apply Rle_trans with (b * (1 + 2 / 5) ^ n).
    { apply Rmult_le_compat_l; [lra|]. apply one_and_more. lra. }
    induction n; [simpl; rewrite !Rmult_1_l, Rmult_1_r; unfold b; lra|].
    set (w := 2 ^ n * v) in *. assert (W : 0 < w) by (apply Rmult_lt_0_compat; [apply pow_lt; lra|exact V]).
    replace (2 ^ S n * v) with (2 * w) by (unfold w; simpl; ring).
    pose proof (halfway_doubled w W) as D. pose proof (around_is_largest w (1 / 2) W) as L.
    pose proof (around_positive (2 * w) (1 / 2) ltac:(lra)). pose proof (around_positive w (1 / 2) W).
    set (c := around w (1 / 2)) in *. set (c' := around (2 * w) (1 / 2)) in *. set (a := around w 0) in *. cbn [pow].
    apply Rle_trans with (7 / 5 * c); [|apply Rnot_lt_le; intros N; nra]. lra. }
  set (e := (b - around v t) / (2 * b)).
  assert (E : 0 < e) by (apply Rdiv_lt_0_compat; lra).
  destruct (archimed (3 / (e * b) * (5 / 2))) as [Up _].
  set (n := Z.to_nat (Z.max 0 (up (3 / (e * b) * (5 / 2))))).
  assert (Big : 3 <= e * around (2 ^ n * v) (1 / 2)).
  { assert (N : 3 / (e * b) * (5 / 2) <= INR n).
    { unfold n. rewrite INR_IZR_INZ, Z2Nat.id by lia.
      assert (IZR (up (3 / (e * b) * (5 / 2))) <= IZR (Z.max 0 (up (3 / (e * b) * (5 / 2))))) by (apply IZR_le; lia). lra. }
    specialize (Grow n). assert (Eb : 0 < e * b) by (apply Rmult_lt_0_compat; assumption).
    apply Rle_trans with (e * (b * (1 + INR n * (2 / 5)))); [|apply Rmult_le_compat_l; lra].
    assert (3 <= e * b * (INR n * (2 / 5))); [|nra].
    replace 3 with (e * b * (3 / (e * b) * (5 / 2) * (2 / 5))) by (field; lra).
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; lra. }
  assert (H : (1 - e) * b <= around v t).
  { apply (Down n v e V ltac:(lra)). intros s.
    pose proof (around_bounded_below (2 ^ n * v) s ltac:(apply Rmult_lt_0_compat; [apply pow_lt; lra|exact V])). lra. }
  assert (e * b = (b - around v t) / 2) by (unfold e; field; lra). lra.
Qed.

(** * All alike *)

(** What is left of the difference between the two; pi^2 is 9.8696.. *)
Definition wave (v : R) : R := exp (- (2 * flatness * v)).

Lemma wave_doubled : forall v, wave (2 * v) = wave v * wave v.
Proof. intros v. unfold wave. rewrite <- exp_plus. f_equal. ring. Qed.

Lemma difference_doubled : forall w, 0 < w -> 0 < wave w <= / 16 ->
  around w 0 - around w (1 / 2) <= 2 * wave w * (1 - wave w ^ 2) * (around w 0 + around w (1 / 2)) ->
  around (2 * w) 0 - around (2 * w) (1 / 2)
  <= 2 * wave (2 * w) * (1 - wave (2 * w) ^ 2) * (around (2 * w) 0 + around (2 * w) (1 / 2)).
Proof.
  intros w W Q H. pose proof (sums_multiply w 0 0 W) as C. pose proof (halfway_doubled w W) as D.
  replace ((0 + 0) / 2) with 0 in C by field. replace ((0 - 0) / 2) with 0 in C by field.
  replace ((0 + 0 + 1) / 2) with (1 / 2) in C by field. replace ((0 - 0 + 1) / 2) with (1 / 2) in C by field.
  pose proof (around_is_largest w (1 / 2) W) as L. pose proof (around_positive w (1 / 2) W) as P.
  pose proof (around_positive (2 * w) 0 ltac:(lra)) as Pa. pose proof (around_positive (2 * w) (1 / 2) ltac:(lra)) as Pb.
  rewrite wave_doubled. set (q := wave w) in *. set (a := around w 0) in *. set (b := around w (1 / 2)) in *.
  set (a' := around (2 * w) 0) in *. set (b' := around (2 * w) (1 / 2)) in *. clearbody q a b a' b'.
  (* Shares of the sum of both. *)
  set (x := (a - b) / (a + b)). set (s := a + b) in *.
  assert (X : a - b = x * s) by (unfold x, s; field; lra).
  assert (X0 : 0 <= x) by (unfold x; apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; unfold s in *; lra]).
  assert (S0 : 0 < s) by (unfold s; lra).
  assert (X1 : x <= 2 * q * (1 - q ^ 2)).
  { apply Rmult_le_reg_r with s; [exact S0|]. rewrite <- X. exact H. }
  assert (T : (a' - b') * (a' + b') = x * x * (s * s)).
  { replace ((a' - b') * (a' + b')) with (a' * a' - b' ^ 2) by ring. rewrite C, D.
    replace (x * x * (s * s)) with ((a - b) * (a - b)) by (rewrite X; ring). ring. }
  assert (M : a' * a' + b' ^ 2 = s * s) by (rewrite C, D; unfold s; ring).
  assert (Small : x <= / 8) by nra.
  assert (N : (s * s) * (2 - x ^ 4) <= (a' + b') * (a' + b')).
  { assert (Pr : (2 * (a' * b')) ^ 2 = (s * s) ^ 2 * (1 - x ^ 4)).
    { replace ((2 * (a' * b')) ^ 2) with ((a' * a' + b' ^ 2) ^ 2 - ((a' - b') * (a' + b')) ^ 2) by ring.
      rewrite M, T. ring. }
    assert (X4 : 0 <= x ^ 4 <= 1) by (split; [apply pow_le, X0|replace 1 with (1 ^ 4) by ring; apply pow_incr; lra]).
    assert (Ge : (s * s) * (1 - x ^ 4) <= 2 * (a' * b')).
    { apply Rsqr_incr_0_var; [|apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]].
      unfold Rsqr. replace (2 * (a' * b') * (2 * (a' * b'))) with ((2 * (a' * b')) ^ 2) by ring. rewrite Pr.
      assert (0 <= (s * s) ^ 2) by apply pow2_ge_0. nra. }
    nra. }
  assert (Q2 : 0 <= q ^ 2 <= / 256) by nra.
  assert (Step : x * x <= 2 * (q * q) * (1 - (q * q) ^ 2) * (2 - x ^ 4)).
  { assert (Xx : x * x <= 4 * q ^ 2 * (1 - q ^ 2) ^ 2).
    { replace (4 * q ^ 2 * (1 - q ^ 2) ^ 2) with ((2 * q * (1 - q ^ 2)) * (2 * q * (1 - q ^ 2))) by ring.
      apply Rmult_le_compat; lra. }
    assert (Xq : x * x <= 4 * q ^ 2) by nra.
    assert (X4 : x ^ 4 <= 16 * (q ^ 2) ^ 2) by (replace (x ^ 4) with ((x * x) * (x * x)) by ring; nra).
    apply Rle_trans with (1 := Xx). set (z := q ^ 2) in *. replace (q * q) with z by (unfold z; ring).
    apply Rle_trans with (2 * z * (1 - z ^ 2) * (2 - 16 * z ^ 2)).
    - replace (2 * z * (1 - z ^ 2) * (2 - 16 * z ^ 2)) with (4 * z * ((1 - z ^ 2) * (1 - 8 * z ^ 2))) by ring.
      apply Rmult_le_compat_l; [lra|]. nra.
    - apply Rmult_le_compat_l; [|lra]. nra. }
  apply Rmult_le_reg_r with (a' + b'); [lra|]. rewrite T.
  replace (2 * (q * q) * (1 - (q * q) ^ 2) * (a' + b') * (a' + b'))
    with (2 * (q * q) * (1 - (q * q) ^ 2) * ((a' + b') * (a' + b'))) by ring.
  apply Rle_trans with (2 * (q * q) * (1 - (q * q) ^ 2) * ((s * s) * (2 - x ^ 4))).
  - replace (2 * (q * q) * (1 - (q * q) ^ 2) * ((s * s) * (2 - x ^ 4)))
      with (2 * (q * q) * (1 - (q * q) ^ 2) * (2 - x ^ 4) * (s * s)) by ring.
    apply Rmult_le_compat_r; [left; apply Rmult_lt_0_compat; exact S0|exact Step].
  - apply Rmult_le_compat_l; [|exact N]. replace (q * q) with (q ^ 2) by ring. set (z := q ^ 2) in *. clearbody z.
    apply Rmult_le_pos; [lra|nra].
Qed.

(** The one inequality that is computed, for u = 1 / 8 v. *)
Lemma computed : forall u, / 4 <= u <= / 2 ->
  1 - 2 * exp (- u) + 2 * exp (- (4 * u)) - 2 * exp (- (9 * u)) + 2 * exp (- (16 * u)) - 2 * exp (- (25 * u))
  + 2 * exp (- (36 * u)) - 2 * exp (- (49 * u)) + 2 * exp (- (64 * u)) - 2 * exp (- (81 * u)) + 4 * exp (- (100 * u))
  - 2 * exp (- (flatness / 4 / u)) * (1 - exp (- (flatness / 2 / u)))
  * (1 + 2 * exp (- u) + 2 * exp (- (4 * u)) + 2 * exp (- (9 * u)) + 2 * exp (- (16 * u)) + 2 * exp (- (25 * u))
  + 2 * exp (- (36 * u))) <= 0.
Proof.
  intros u U. unfold flatness. interval with (i_taylor u, i_degree 12, i_bisect u, i_prec 60).
Qed.

Lemma largest_from_above : forall v, / 4 <= v <= / 2 -> let u := / (8 * v) in
  around v 0 <= 1 + 2 * exp (- (4 * u)) + 2 * exp (- (16 * u)) + 2 * exp (- (36 * u)) + 2 * exp (- (64 * u))
    + 4 * exp (- (100 * u)).
Proof.
  intros v V u. assert (U : / 4 <= u).
  { unfold u. apply Rinv_le_contravar; lra. }
  assert (F : forall n, folded (near v 0) (S n) = 2 * exp (- (4 * (INR n + 1) ^ 2 * u))).
  { intros n. cbn [folded]. unfold near, u. rewrite opp_IZR, <- INR_IZR_INZ, S_INR.
    replace (- INR n - 0) with (- INR n) by ring.
    replace ((- (INR n + 1) - 0) ^ 2) with ((INR n + 1 - 0) ^ 2) by ring.
    replace (- ((INR n + 1 - 0) ^ 2 / (2 * v))) with (- (4 * (INR n + 1) ^ 2 * / (8 * v))) by (field; lra). ring. }
  rewrite around_is_all. unfold all. rewrite (Series_incr_n (folded (near v 0)) 5) by (lia || apply near_exists; lra).
  cbn [pred sum_f_R0]. rewrite !F.
  assert (Z0' : folded (near v 0) 0 = 1).
  { cbn [folded]. unfold near. replace (- ((0 - 0) ^ 2 / (2 * v))) with 0 by (field; lra). apply exp_0. }
  rewrite Z0'. simpl INR.
  assert (T : Series (fun k => folded (near v 0) (5 + k)) <= 4 * exp (- (100 * u))).
  { assert (G : is_series (fun k => 2 * exp (- (100 * u)) * (/ 2) ^ k) (2 * exp (- (100 * u)) * / (1 - / 2))).
    { apply (is_series_scal_l (2 * exp (- (100 * u))) (fun k => (/ 2) ^ k)), is_series_geom. rewrite Rabs_right; lra. }
    replace (4 * exp (- (100 * u))) with (2 * exp (- (100 * u)) * / (1 - / 2)) by field.
    rewrite <- (is_series_unique _ _ G). apply Series_le; [|eexists; exact G]. intros k.
    change (5 + k)%nat with (S (4 + k)). rewrite F. split; [apply Rmult_le_pos; [lra|left; apply exp_pos]|].
    rewrite (Rmult_assoc 2). apply Rmult_le_compat_l; [lra|].
    assert (P : exp (INR k * - 1) <= (/ 2) ^ k).
    { rewrite <- (Rpower_pow k (/ 2)) by lra. unfold Rpower. apply exp_le. apply Rmult_le_compat_l; [apply pos_INR|].
      rewrite ln_Rinv by lra. assert (ln 2 <= 1) by interval with (i_prec 60). lra. }
    apply Rle_trans with (exp (- (100 * u)) * exp (INR k * - 1)); [|apply Rmult_le_compat_l; [left; apply exp_pos|exact P]].
    rewrite <- exp_plus. apply exp_le. rewrite plus_INR. pose proof (pos_INR k). simpl INR.
    replace (1 + 1 + 1 + 1 + INR k + 1) with (INR k + 5) by ring. nra. }
  replace (4 * (0 + 1) ^ 2 * u) with (4 * u) by ring. replace (4 * (1 + 1) ^ 2 * u) with (16 * u) by ring.
  replace (4 * (1 + 1 + 1) ^ 2 * u) with (36 * u) by ring. replace (4 * (1 + 1 + 1 + 1) ^ 2 * u) with (64 * u) by ring.
  lra.
Qed.

Lemma smallest_from_below : forall v, 0 < v -> let u := / (8 * v) in
  2 * (exp (- u) + exp (- (9 * u)) + exp (- (25 * u)) + exp (- (49 * u)) + exp (- (81 * u))) <= around v (1 / 2).
Proof.
  intros v V u. apply Rle_trans with (sum_n (folded (near v (1 / 2))) 5).
  - rewrite sum_n_Reals. cbn [sum_f_R0 folded].
    assert (N : forall y, near v (1 / 2) y = exp (- ((2 * IZR y - 1) ^ 2 * u))).
    { intros y. unfold near, u. f_equal. field. lra. }
    rewrite !N. simpl.
    replace ((2 * 0 - 1) * ((2 * 0 - 1) * 1) * u) with u by ring. replace ((2 * 1 - 1) * ((2 * 1 - 1) * 1) * u) with u by ring.
    replace ((2 * -1 - 1) * ((2 * -1 - 1) * 1) * u) with (9 * u) by ring. replace ((2 * 2 - 1) * ((2 * 2 - 1) * 1) * u) with (9 * u) by ring.
    replace ((2 * -2 - 1) * ((2 * -2 - 1) * 1) * u) with (25 * u) by ring. replace ((2 * 3 - 1) * ((2 * 3 - 1) * 1) * u) with (25 * u) by ring.
    replace ((2 * -3 - 1) * ((2 * -3 - 1) * 1) * u) with (49 * u) by ring. replace ((2 * 4 - 1) * ((2 * 4 - 1) * 1) * u) with (49 * u) by ring.
    replace ((2 * -4 - 1) * ((2 * -4 - 1) * 1) * u) with (81 * u) by ring. replace ((2 * 5 - 1) * ((2 * 5 - 1) * 1) * u) with (81 * u) by ring.
    pose proof (exp_pos (- ((2 * -5 - 1) * ((2 * -5 - 1) * 1) * u))). lra.
  - apply partial_below; [intros k; apply folded_not_negative; intros; left; apply near_positive|apply near_exists, V].
Qed.

Lemma wave_is_small : forall v, / 4 <= v -> 0 < wave v <= / 16.
Proof.
  intros v V. unfold wave. split; [apply exp_pos|].
  apply Rle_trans with (exp (- (flatness / 2))); [|unfold flatness; interval with (i_prec 60)].
  apply exp_le. assert (0 < flatness) by (unfold flatness; lra). nra.
Qed.

Theorem difference_is_small : forall v, / 4 <= v ->
  around v 0 - around v (1 / 2) <= 2 * wave v * (1 - wave v ^ 2) * (around v 0 + around v (1 / 2)).
Proof.
  assert (Base : forall v, / 4 <= v <= / 2 ->
    around v 0 - around v (1 / 2) <= 2 * wave v * (1 - wave v ^ 2) * (around v 0 + around v (1 / 2))).
  { intros v V. pose proof (largest_from_above v V) as A. pose proof (smallest_from_below v ltac:(lra)) as B.
    cbv zeta in A, B. set (u := / (8 * v)) in *.
    assert (U : / 4 <= u <= / 2).
    { unfold u. split; apply Rinv_le_contravar; lra. }
    pose proof (computed u U) as C. pose proof (wave_is_small v (proj1 V)) as W.
    assert (Q : exp (- (flatness / 4 / u)) = wave v) by (unfold wave, u; f_equal; field; lra).
    assert (Q2 : exp (- (flatness / 2 / u)) = wave v ^ 2).
    { rewrite <- Q. simpl. rewrite Rmult_1_r, <- exp_plus. f_equal. field. lra. }
    rewrite Q, Q2 in C. set (q := wave v) in *. set (k := 2 * q * (1 - q ^ 2)) in *.
    assert (K : 0 <= k <= 1) by (unfold k; nra).
    pose proof (exp_pos (- (49 * u))). pose proof (exp_pos (- (64 * u))). pose proof (exp_pos (- (81 * u))).
    pose proof (exp_pos (- (100 * u))).
    set (a' := 1 + 2 * exp (- (4 * u)) + 2 * exp (- (16 * u)) + 2 * exp (- (36 * u)) + 2 * exp (- (64 * u))
      + 4 * exp (- (100 * u))) in *.
    set (b' := 2 * (exp (- u) + exp (- (9 * u)) + exp (- (25 * u)) + exp (- (49 * u)) + exp (- (81 * u)))) in *.
    assert (D : a' - b' <= k * (a' + b')).
    { match type of C with _ - k * ?t <= 0 => assert (T : t <= a' + b') by (unfold a', b'; lra); set (s := t) in * end.
      assert (a' - b' - k * s <= 0) by (unfold a', b'; lra).
      assert (k * s <= k * (a' + b')) by (apply Rmult_le_compat_l; lra). lra. }
    nra. }
  assert (Up : forall n v, / 4 <= v <= 2 ^ n * / 2 ->
    around v 0 - around v (1 / 2) <= 2 * wave v * (1 - wave v ^ 2) * (around v 0 + around v (1 / 2))).
  { induction n; intros v V; [apply Base; simpl in V; lra|].
    destruct (Rle_or_lt v (/ 2)) as [L|L]; [apply Base; lra|].
    replace v with (2 * (v / 2)) by field. apply difference_doubled; [lra|apply wave_is_small; lra|].
    apply IHn. simpl in V. lra. }
  intros v V. destruct (archimed (2 * v)) as [A _]. apply (Up (Z.to_nat (up (2 * v)))). split; [exact V|].
  assert (P : 2 * v <= INR (Z.to_nat (up (2 * v)))).
  { rewrite INR_IZR_INZ, Z2Nat.id; [lra|]. apply le_IZR. lra. }
  pose proof (one_and_more (Z.to_nat (up (2 * v))) 1 ltac:(lra)). replace (1 + 1) with 2 in H by ring. lra.
Qed.

(** Sums over the integers are all alike, wherever their centre is. *)
Theorem around_is_flat : forall v, / 2 <= v -> exists low high, 0 < low /\ high <= exp (5 * wave v) * low /\
  forall t, low <= around v t <= high.
Proof.
  intros v V. exists (around v (1 / 2)), (around v 0).
  pose proof (around_positive v (1 / 2) ltac:(lra)) as P.
  split; [exact P|]. split; [|intros t; split; [apply around_is_smallest|apply around_is_largest]; lra].
  pose proof (difference_is_small v ltac:(lra)) as D. pose proof (wave_is_small v ltac:(lra)) as W.
  assert (W' : wave v <= / 100).
  { unfold wave. apply Rle_trans with (exp (- flatness)); [|unfold flatness; interval with (i_prec 60)].
    apply exp_le. assert (0 < flatness) by (unfold flatness; lra). nra. }
  pose proof (around_positive v 0 ltac:(lra)) as Pa.
  set (q := wave v) in *. set (a := around v 0) in *. set (b := around v (1 / 2)) in *.
  assert (D' : 2 * q * (1 - q ^ 2) * (a + b) <= 2 * q * (a + b)).
  { apply Rmult_le_compat_r; [lra|]. pose proof (pow2_ge_0 q). nra. }
  assert (L : a * (1 - 2 * q) <= b * (1 + 2 * q)) by lra.
  pose proof (exp_ineq1_le (5 * q)) as E.
  apply Rle_trans with ((1 + 5 * q) * b); [|apply Rmult_le_compat_r; lra].
  apply Rmult_le_reg_r with (1 - 2 * q); [lra|]. apply Rle_trans with (1 := L).
  replace ((1 + 5 * q) * b * (1 - 2 * q)) with (b * ((1 + 5 * q) * (1 - 2 * q))) by ring.
  apply Rmult_le_compat_l; [lra|]. nra.
Qed.
