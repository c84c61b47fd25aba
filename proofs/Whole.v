(** Chances add up to one, and draws end: the laws of `numerics/discrete.py` and of noise in shares are laws. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Coquelicot Require Import Coquelicot.
From Proofs Require Import Laws Shares.
Open Scope R_scope.

(** Chances of the numbers from 0 on, and of integers in the order 0, 1 and -1, 2 and -2, .. *)
Definition adds_up (a : nat -> R) : Prop := (forall k, 0 <= a k) /\ is_series a 1.
Definition folded (f : Z -> R) (n : nat) : R :=
  match n with | O => f Z0 | S rest => f (Z.of_nat n) + f (Z.opp (Z.of_nat n)) end.
Definition adds_up_both_ways (f : Z -> R) : Prop := (forall d, 0 <= f d) /\ is_series (folded f) 1.

(** Terms of a series are real numbers. *)
Ltac of_reals := match goal with |- ?x = ?y => change (@eq R x y) end.

(** * Sums of independent numbers *)

Lemma both_is_sum : forall k a b, both a b k = sum_f_R0 (fun i => a i * b (k - i)%nat) k.
Proof.
  induction k; intros a b; [reflexivity|].
  rewrite decomp_sum by lia. cbn [both pred]. rewrite IHk. f_equal.
Qed.

Lemma both_not_negative : forall k a b, (forall i, 0 <= a i) -> (forall i, 0 <= b i) -> 0 <= both a b k.
Proof.
  induction k; intros a b A B; cbn [both]; [apply Rmult_le_pos; auto|].
  apply Rplus_le_le_0_compat; [apply Rmult_le_pos; auto|apply IHk; auto].
Qed.

Lemma several_add_up : forall m a l, (forall k, 0 <= a k) -> is_series a l ->
  (forall k, 0 <= several m a k) /\ is_series (several m a) (l ^ m).
Proof.
  induction m; intros a l A S.
  - split; [intros [|k]; simpl; lra|]. apply (is_series_decr_1 (several 0 a)). simpl.
    apply is_series_ext with (fun n => 0 * (1 / 2) ^ n); [intros; simpl; ring|].
    replace (plus _ _) with (0 * / (1 - 1 / 2)) by (unfold plus, opp; simpl; ring).
    apply (is_series_scal_l 0 (fun n => (1 / 2) ^ n)), is_series_geom. rewrite Rabs_right; lra.
  - destruct (IHm a l A S) as [N L]. split.
    + intros k. apply both_not_negative; auto.
    + cbn [pow several]. apply is_series_ext with (fun n => sum_f_R0 (fun k => a k * several m a (n - k)%nat) n).
      * intros n. symmetry. apply both_is_sum.
      * apply is_series_mult_pos; auto.
Qed.

(** * Shares of Laplace noise *)

Theorem geometric_adds_up : forall p, 0 < p < 1 -> adds_up (geometric p).
Proof.
  intros p P. split.
  - intros k. unfold geometric. apply Rmult_le_pos; [lra|apply pow_le; lra].
  - replace 1 with ((1 - p) * / (1 - p)) by (field; lra).
    apply (is_series_scal_l (1 - p) (fun k => p ^ k)), is_series_geom. rewrite Rabs_right; lra.
Qed.

Lemma rising_is_small : forall r p k, 0 < r <= 1 -> 0 < p < 1 -> 0 <= rising r p k <= p ^ k.
Proof.
  intros r p k H P. induction k; cbn [rising pow]; [lra|].
  assert (N : 0 < INR (S k)) by (apply lt_0_INR; lia). pose proof (pos_INR k) as K.
  assert (F : 0 <= (r + INR k) * p / INR (S k) <= p).
  { split.
    - apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat, N].
    - apply Rmult_le_reg_r with (INR (S k)); [exact N|].
      replace ((r + INR k) * p / INR (S k) * INR (S k)) with ((r + INR k) * p) by (field; lra).
      rewrite S_INR. nra. }
  set (f := (r + INR k) * p / INR (S k)) in *. pose proof (pow_le p k ltac:(lra)). split.
  - apply Rmult_le_pos; lra.
  - rewrite Rmult_comm. apply Rmult_le_compat; lra.
Qed.

(** One share, and any number of them. *)
Theorem shares_add_up : forall honest drawn p, (0 < honest)%nat -> 0 < p < 1 ->
  adds_up (share (INR drawn * (1 / INR honest)) p).
Proof.
  intros honest drawn p H P.
  assert (N : 1 <= INR honest) by (change 1 with (INR 1); apply le_INR; lia).
  set (r := 1 / INR honest).
  assert (R : 0 < r <= 1).
  { unfold r. split; [apply Rdiv_lt_0_compat; lra|].
    apply Rmult_le_reg_r with (INR honest); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (Pos : forall k, 0 <= share r p k).
  { intros k. apply Rmult_le_pos; [left; apply exp_pos|apply rising_is_small; lra]. }
  assert (Ex : ex_series (share r p)).
  { apply (ex_series_scal_l (Rpower (1 - p) r) (rising r p)).
    apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (fun k => p ^ k)).
    - intros k. change (norm ?t) with (Rabs t). pose proof (rising_is_small r p k R P). rewrite Rabs_right; lra.
    - exists (/ (1 - p)). apply is_series_geom. rewrite Rabs_right; lra. }
  pose proof (Series_correct _ Ex) as S. set (l := Series (share r p)) in *.
  destruct (several_add_up honest _ _ Pos S) as [_ L].
  assert (G : is_series (several honest (share r p)) 1).
  { apply is_series_ext with (geometric p); [|apply geometric_adds_up, P].
    intros k. symmetry. apply shares_are_geometric; [exact H|exact P]. }
  assert (One : l ^ honest = 1) by (rewrite <- (is_series_unique _ _ L); apply is_series_unique, G).
  assert (L0 : 0 <= l).
  { unfold l. replace 0 with (Series (fun _ : nat => 0 * 0)) by (rewrite Series_scal_l; ring).
    apply Series_le; [intros k; specialize (Pos k); lra|exact Ex]. }
  assert (L1 : l = 1).
  { destruct (Rtotal_order l 1) as [Less|[E|More]]; [|exact E|].
    - assert (l ^ honest < 1); [|lra]. apply pow_lt_1_compat; lra || lia.
    - assert (1 < l ^ honest); [|lra]. apply Rlt_pow_R1; [lra|lia]. }
  rewrite L1 in S. destruct (several_add_up drawn _ _ Pos S) as [A B]. rewrite pow1 in B. split.
  - intros k. rewrite <- shares_add by exact P. apply A.
  - apply is_series_ext with (several drawn (share r p)); [|exact B]. intros k. apply shares_add, P.
Qed.

(** * Differences *)

Section Differences.

Variable a : nat -> R.
Hypothesis chances : adds_up a.

(** The chance of n or more, and that two numbers are n apart, the first not below. *)
Definition beyond (n : nat) : R := Series (fun k => a (n + k)%nat).
Definition meets (n : nat) : R := Series (fun k => a (k + n)%nat * a k).

Lemma beyond_exists : forall n, ex_series (fun k => a (n + k)%nat).
Proof.
  intros n. apply (ex_series_incr_n a n). exists 1. apply chances.
Qed.

Lemma beyond_not_negative : forall n, 0 <= beyond n.
Proof.
  intros n. unfold beyond. replace 0 with (Series (fun _ : nat => 0 * 0)) by (rewrite Series_scal_l; ring).
  apply Series_le; [|apply beyond_exists]. intros k. pose proof (proj1 chances (n + k)%nat). lra.
Qed.

Lemma beyond_next : forall n, beyond n = a n + beyond (S n).
Proof.
  intros n. unfold beyond. rewrite Series_incr_1 by apply beyond_exists. rewrite Nat.add_0_r. f_equal.
  apply Series_ext. intros k. f_equal. lia.
Qed.

Lemma beyond_none : beyond 0 = 1.
Proof. apply is_series_unique. apply chances. Qed.

Lemma beyond_falls : forall more n, beyond (n + more) <= beyond n.
Proof.
  induction more; intros n; [rewrite Nat.add_0_r; lra|].
  replace (n + S more)%nat with (S (n + more)) by lia. specialize (IHmore n).
  pose proof (beyond_next (n + more)). pose proof (proj1 chances (n + more)%nat). lra.
Qed.

Lemma beyond_at_most_one : forall n, beyond n <= 1.
Proof. intros n. rewrite <- beyond_none. apply (beyond_falls n 0). Qed.

Lemma beyond_vanishes : is_lim_seq (fun n => beyond (S n)) 0.
Proof.
  apply is_lim_seq_ext with (fun n => 1 - sum_n a n).
  - induction n.
    + rewrite sum_O. pose proof (beyond_next 0). rewrite beyond_none in H. lra.
    + rewrite sum_Sn. unfold plus. simpl. pose proof (beyond_next (S n)). lra.
  - replace (Finite 0) with (Rbar_minus 1 1) by (simpl; f_equal; ring).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|apply (proj2 chances)].
Qed.

Lemma bounded_series : forall f, (forall k, 0 <= f k <= 1) -> ex_series (fun k => a k * f k).
Proof.
  intros f F. apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ a); [|exists 1; apply chances].
  intros k. change (norm ?t) with (Rabs t). pose proof (proj1 chances k). specialize (F k).
  rewrite Rabs_right by nra. nra.
Qed.

(** Twice the chance of a number and one not below it, less that of the same number twice, is one. *)
Lemma squares_telescope : is_series (fun k => a k * (2 * beyond k - a k)) 1.
Proof.
  change (is_lim_seq (sum_n (fun k => a k * (2 * beyond k - a k))) 1).
  apply is_lim_seq_ext with (fun n => 1 - beyond (S n) * beyond (S n)).
  - induction n.
    + rewrite sum_O. pose proof (beyond_next 0) as E. rewrite beyond_none in *. nra.
    + rewrite sum_Sn. unfold plus. simpl. rewrite <- IHn. pose proof (beyond_next (S n)) as E. rewrite E. ring.
  - replace (Finite 1) with (Rbar_minus 1 (0 * 0)) by (simpl; f_equal; ring).
    apply is_lim_seq_minus'; [apply is_lim_seq_const|].
    apply is_lim_seq_mult'; apply beyond_vanishes.
Qed.

Lemma meets_exists : forall n, ex_series (fun k => a k * a (k + n)%nat).
Proof.
  intros n. apply bounded_series. intros k. split; [apply chances|].
  pose proof (beyond_next (k + n)). pose proof (beyond_not_negative (S (k + n))).
  pose proof (beyond_at_most_one (k + n)). lra.
Qed.

Lemma some_meet : forall n, sum_n meets n = Series (fun k => a k * (beyond k - beyond (k + S n))).
Proof.
  assert (Between : forall n, ex_series (fun k => a k * (beyond k - beyond (k + S n)))).
  { intros n. apply bounded_series. intros k. pose proof (beyond_falls (S n) k).
    pose proof (beyond_not_negative (k + S n)). pose proof (beyond_at_most_one k). lra. }
  induction n.
  - rewrite sum_O. unfold meets. apply Series_ext. intros k. rewrite Nat.add_0_r.
    replace (k + 1)%nat with (S k) by lia. pose proof (beyond_next k). rewrite H. ring.
  - rewrite sum_Sn, IHn. unfold plus, meets. simpl.
    rewrite (Series_ext (fun k => a (k + S n)%nat * a k) (fun k => a k * a (k + S n)%nat)) by (intros; ring).
    rewrite <- Series_plus by (apply Between || apply meets_exists). apply Series_ext. intros k.
    replace (k + S (S n))%nat with (S (k + S n)) by lia. pose proof (beyond_next (k + S n)). rewrite H. ring.
Qed.

Lemma all_meet : is_series meets (Series (fun k => a k * beyond k)).
Proof.
  assert (Ex : ex_series (fun k => a k * beyond k)).
  { apply bounded_series. intros k. split; [apply beyond_not_negative|apply beyond_at_most_one]. }
  assert (Ex2 : forall n, ex_series (fun k => a k * beyond (k + S n))).
  { intros n. apply bounded_series. intros k. split; [apply beyond_not_negative|apply beyond_at_most_one]. }
  change (is_lim_seq (sum_n meets) (Series (fun k => a k * beyond k))).
  apply is_lim_seq_ext with (fun n => Series (fun k => a k * beyond k) - Series (fun k => a k * beyond (k + S n))).
  { intros n. rewrite some_meet, <- Series_minus by auto. apply Series_ext. intros k. ring. }
  match goal with |- is_lim_seq _ (Finite ?l) => replace (Finite l) with (Rbar_minus l 0) by (simpl; f_equal; ring) end.
  apply is_lim_seq_minus'; [apply is_lim_seq_const|].
  apply is_lim_seq_le_le with (fun _ => 0) (fun n => beyond (S n));
    [|apply is_lim_seq_const|apply beyond_vanishes].
  intros n. split.
  - replace 0 with (Series (fun _ : nat => 0 * 0)) by (rewrite Series_scal_l; ring).
    apply Series_le; [|apply Ex2]. intros k. pose proof (proj1 chances k).
    pose proof (beyond_not_negative (k + S n)). nra.
  - rewrite <- (Rmult_1_r (beyond (S n))). rewrite <- (is_series_unique _ _ (proj2 chances)).
    rewrite <- Series_scal_l. apply Series_le.
    + intros k. pose proof (proj1 chances k). pose proof (beyond_not_negative (k + S n)).
      pose proof (beyond_falls k (S n)). replace (S n + k)%nat with (k + S n)%nat in * by lia. nra.
    + apply (ex_series_scal_l (beyond (S n)) a). exists 1. apply chances.
Qed.

Lemma difference_meets : forall d, difference a a d = meets (Z.abs_nat d).
Proof.
  intros d. unfold difference, meets. apply Series_ext. intros k. destruct (Z_le_gt_dec 0 d).
  - replace (Z.to_nat (- d)) with 0%nat by lia. replace (Z.to_nat d) with (Z.abs_nat d) by lia.
    rewrite Nat.add_0_r. reflexivity.
  - replace (Z.to_nat d) with 0%nat by lia. replace (Z.to_nat (- d)) with (Z.abs_nat d) by lia.
    rewrite Nat.add_0_r. ring.
Qed.

(** The difference of two independent numbers of one law has a law. *)
Theorem differences_add_up : adds_up_both_ways (difference a a).
Proof.
  split.
  - intros d. rewrite difference_meets. unfold meets.
    replace 0 with (Series (fun _ : nat => 0 * 0)) by (rewrite Series_scal_l; ring).
    apply Series_le.
    + intros k. pose proof (proj1 chances k). pose proof (proj1 chances (k + Z.abs_nat d)%nat). nra.
    + apply ex_series_ext with (2 := meets_exists (Z.abs_nat d)). intros k. apply Rmult_comm.
  - change (is_lim_seq (sum_n (folded (difference a a))) 1).
    apply is_lim_seq_ext with (fun n => 2 * sum_n meets n - meets 0).
    + induction n.
      * rewrite !sum_O. simpl folded. rewrite difference_meets. simpl. ring.
      * rewrite !sum_Sn, <- IHn. unfold plus, folded. cbn -[Z.of_nat meets sum_n].
        rewrite !difference_meets.
        replace (Z.abs_nat (Z.of_nat (S n))) with (S n) by lia.
        replace (Z.abs_nat (- Z.of_nat (S n))) with (S n) by lia. ring.
    + assert (One : 2 * Series (fun k => a k * beyond k) - meets 0 = 1).
      { rewrite <- Series_scal_l. unfold meets. rewrite <- Series_minus.
        - rewrite <- (is_series_unique _ _ squares_telescope). apply Series_ext. intros k.
          rewrite Nat.add_0_r. ring.
        - apply (ex_series_scal_l 2 (fun k => a k * beyond k)), bounded_series. intros k.
          split; [apply beyond_not_negative|apply beyond_at_most_one].
        - apply ex_series_ext with (2 := meets_exists 0). intros k. apply Rmult_comm. }
      rewrite <- One.
      match goal with |- is_lim_seq _ (Finite (?x - ?y)) => change (Finite (x - y)) with (Rbar_minus x y) end.
      apply is_lim_seq_minus'; [|apply is_lim_seq_const].
      apply (is_lim_seq_scal_l (sum_n meets) 2 (Series (fun k => a k * beyond k))), all_meet.
Qed.

End Differences.

(** Noise of the parties' shares together, and of as many as are stated. *)
Theorem shared_noise_adds_up : forall honest drawn b, (0 < honest)%nat -> 0 < b ->
  adds_up_both_ways (shared_noise (INR drawn * (1 / INR honest)) b).
Proof.
  intros honest drawn b H B. apply (differences_add_up (share (INR drawn * (1 / INR honest)) (ratio b))).
  apply shares_add_up; [exact H|apply ratio_inside, B].
Qed.

Theorem two_sided_adds_up : forall p, 0 < p < 1 -> adds_up_both_ways (two_sided p).
Proof.
  intros p P. destruct (differences_add_up _ (geometric_adds_up p P)) as [N S]. split.
  - intros d. rewrite <- difference_is_two_sided by exact P. apply N.
  - apply is_series_ext with (2 := S). intros [|n]; unfold folded; now rewrite !difference_is_two_sided by exact P.
Qed.

(** * Draws end *)

Theorem poisson_adds_up : forall mean, 0 <= mean -> adds_up (poisson mean).
Proof.
  intros mean M. split.
  - intros k. rewrite poisson_chances. apply Rmult_le_pos.
    + apply Rmult_le_pos; [left; apply exp_pos|apply pow_le, M].
    + left. apply Rinv_0_lt_compat, INR_fact_lt_0.
  - replace 1 with (exp (- mean) * exp mean) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
    apply is_series_ext with (fun n => exp (- mean) * (/ INR (fact n) * mean ^ n)).
    + intros n. rewrite poisson_chances. unfold Rdiv. of_reals. ring.
    + apply (is_series_scal_l (exp (- mean)) (fun n => / INR (fact n) * mean ^ n)).
      apply (proj1 (is_pseries_R (fun n => / INR (fact n)) mean (exp mean))), is_exp_Reals.
Qed.

(** `_poisson` comes to an end: some number has a distribution function beyond the uniform variable. *)
Theorem least_number_exists : forall mean u, 0 <= mean -> u < 1 -> exists n, u < total (S n) (poisson mean).
Proof.
  intros mean u M U. pose proof (proj2 (poisson_adds_up mean M)) as S.
  change (is_lim_seq (sum_n (poisson mean)) 1) in S. apply is_lim_seq_spec in S.
  destruct (S (mkposreal (1 - u) ltac:(lra))) as [n N]. exists n. specialize (N n (le_n n)). simpl in N.
  assert (E : forall k, sum_n (poisson mean) k = total (Datatypes.S k) (poisson mean)).
  { induction k; [rewrite sum_O; symmetry; apply Rplus_0_l|]. rewrite sum_Sn, IHk. reflexivity. }
  rewrite E in N. apply Rabs_lt_between in N. lra.
Qed.

(** Discrete Gaussian numbers: the chance that one proposal is the integer x and is taken. A zero is proposed with
    either sign, and taken with one. *)
Definition kept (v t : R) (x : Z) : R := proposed t (Z.abs_nat x) * taken v t (Z.abs_nat x).
Definition accepted (v t : R) : R := Series (folded (kept v t)).
Definition bell (v : R) (x : Z) : R := exp (- (IZR x ^ 2 / (2 * v))).

Lemma kept_is_bell : forall v t x, 0 < v -> 0 < t ->
  kept v t x = (1 - ratio t) / 2 * exp (- (v / (2 * t ^ 2))) * bell v x.
Proof.
  intros v t x V T. unfold kept. rewrite gaussian_by_rejection by assumption. unfold bell.
  replace (INR (Z.abs_nat x) ^ 2) with (IZR x ^ 2); [reflexivity|].
  rewrite INR_IZR_INZ, Zabs2Nat.id_abs, abs_IZR, pow2_abs. reflexivity.
Qed.

Lemma kept_is_bounded : forall v t x, 0 < v -> 0 < t -> 0 < kept v t x <= geometric (ratio t) (Z.abs_nat x) / 2.
Proof.
  intros v t x V T. pose proof (ratio_inside t T) as P. unfold kept, proposed, taken.
  set (n := Z.abs_nat x). pose proof (exp_pos (- ((INR n - v / t) ^ 2 / (2 * v)))) as E.
  assert (E1 : exp (- ((INR n - v / t) ^ 2 / (2 * v))) <= 1).
  { rewrite <- exp_0. assert (0 <= (INR n - v / t) ^ 2 / (2 * v)).
    { apply Rmult_le_pos; [apply pow2_ge_0|left; apply Rinv_0_lt_compat; lra]. }
    destruct H as [H|H]; [left; apply exp_increasing; lra|right; f_equal; lra]. }
  assert (G : 0 < geometric (ratio t) n) by (unfold geometric; apply Rmult_lt_0_compat; [lra|apply pow_lt; lra]).
  split; [apply Rmult_lt_0_compat; lra|]. rewrite <- (Rmult_1_r (geometric (ratio t) n / 2)) at 2.
  apply Rmult_le_compat_l; lra.
Qed.

Lemma kept_adds_up : forall v t, 0 < v -> 0 < t -> ex_series (folded (kept v t)) /\ 0 < accepted v t <= 1.
Proof.
  intros v t V T. pose proof (ratio_inside t T) as P. destruct (geometric_adds_up _ P) as [G S].
  assert (B : forall n, 0 < folded (kept v t) n <= geometric (ratio t) n).
  { intros [|n]; unfold folded.
    - pose proof (kept_is_bounded v t 0 V T). pose proof (G 0%nat). simpl Z.abs_nat in *. lra.
    - pose proof (kept_is_bounded v t (Z.of_nat (Datatypes.S n)) V T) as K1.
      pose proof (kept_is_bounded v t (- Z.of_nat (Datatypes.S n)) V T) as K2.
      replace (Z.abs_nat (Z.of_nat (Datatypes.S n))) with (Datatypes.S n) in K1 by lia.
      replace (Z.abs_nat (- Z.of_nat (Datatypes.S n))) with (Datatypes.S n) in K2 by lia. lra. }
  assert (Ex : ex_series (folded (kept v t))).
  { apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (geometric (ratio t))); [|exists 1; exact S].
    intros n. change (norm ?x) with (Rabs x). specialize (B n). rewrite Rabs_right; lra. }
  split; [exact Ex|]. unfold accepted. split.
  - rewrite Series_incr_1 by exact Ex. apply Rplus_lt_le_0_compat; [apply B|].
    replace 0 with (Series (fun _ : nat => 0 * 0)) by (rewrite Series_scal_l; ring).
    apply Series_le; [intros n; specialize (B (Datatypes.S n)); lra|].
    apply (ex_series_incr_1 (folded (kept v t))), Ex.
  - rewrite <- (is_series_unique _ _ S). apply Series_le; [|exists 1; exact S].
    intros n. specialize (B n). lra.
Qed.

(** The rounds of `discrete_gaussians` end with probability one: that the first, the second, .. is the last. *)
Theorem rounds_end : forall v t, 0 < v -> 0 < t ->
  is_series (fun n => (1 - accepted v t) ^ n * accepted v t) 1.
Proof.
  intros v t V T. destruct (kept_adds_up v t V T) as [_ A].
  pose proof (first_taken (accepted v t) (accepted v t) A) as F.
  replace (accepted v t / accepted v t) with 1 in F by (field; lra). exact F.
Qed.

(** What comes out in whichever round has chances in proportion to exp(-x^2 / 2 v), which add up to one. *)
Definition discrete_gaussian (v : R) (x : Z) : R := bell v x / Series (folded (bell v)).

Theorem drawn_gaussian : forall v t x, 0 < v -> 0 < t ->
  is_series (fun n => (1 - accepted v t) ^ n * kept v t x) (discrete_gaussian v x).
Proof.
  intros v t x V T. destruct (kept_adds_up v t V T) as [_ A]. pose proof (ratio_inside t T) as P.
  set (c := (1 - ratio t) / 2 * exp (- (v / (2 * t ^ 2)))).
  assert (C : 0 < c) by (unfold c; apply Rmult_lt_0_compat; [lra|apply exp_pos]).
  assert (E : accepted v t = c * Series (folded (bell v))).
  { unfold accepted. rewrite <- Series_scal_l. apply Series_ext. intros [|n]; unfold folded, c;
      rewrite !kept_is_bell by assumption; ring. }
  replace (discrete_gaussian v x) with (kept v t x / accepted v t); [apply first_taken, A|].
  unfold discrete_gaussian. rewrite E, kept_is_bell by assumption. fold c. field. rewrite E in A. split; nra.
Qed.

Lemma bell_sum : forall v, 0 < v -> ex_series (folded (bell v)) /\ 0 < Series (folded (bell v)).
Proof.
  intros v V. destruct (kept_adds_up v 1 V ltac:(lra)) as [Ex A]. pose proof (ratio_inside 1 ltac:(lra)) as P.
  set (c := (1 - ratio 1) / 2 * exp (- (v / (2 * 1 ^ 2)))).
  assert (C : 0 < c) by (unfold c; apply Rmult_lt_0_compat; [lra|apply exp_pos]).
  assert (E : forall n, folded (kept v 1) n = c * folded (bell v) n).
  { intros [|n]; unfold folded, c; rewrite !kept_is_bell by lra; ring. }
  assert (Eb : ex_series (folded (bell v))).
  { apply ex_series_ext with (fun n => / c * folded (kept v 1) n).
    - intros n. rewrite E. of_reals. field. lra.
    - apply (ex_series_scal_l (/ c) (folded (kept v 1))), Ex. }
  split; [exact Eb|].
  unfold accepted in A. rewrite (Series_ext _ _ E), Series_scal_l in A.
    apply Rmult_lt_reg_l with c; [exact C|]. rewrite Rmult_0_r. apply A.
Qed.

Lemma bell_sum_exists : forall v, 0 < v -> ex_series (folded (bell v)).
Proof. intros. now apply bell_sum. Qed.
Lemma bell_sum_positive : forall v, 0 < v -> 0 < Series (folded (bell v)).
Proof. intros. now apply bell_sum. Qed.

Theorem gaussian_adds_up : forall v, 0 < v -> adds_up_both_ways (discrete_gaussian v).
Proof.
  intros v V. destruct (bell_sum v V) as [Eb Pos].
  split.
  - intros d. unfold discrete_gaussian. apply Rmult_le_pos; [left; apply exp_pos|left; apply Rinv_0_lt_compat, Pos].
  - replace 1 with (/ Series (folded (bell v)) * Series (folded (bell v))) by (field; lra).
    apply is_series_ext with (fun n => / Series (folded (bell v)) * folded (bell v) n).
    + intros [|n]; cbn [folded]; unfold discrete_gaussian, Rdiv; of_reals; ring.
    + apply (is_series_scal_l (/ Series (folded (bell v))) (folded (bell v))), Series_correct, Eb.
Qed.
