(** Sums of independent integers, and laws whose chances differ by at most a factor; sums of Gaussian functions over the
    integers, of which `Theta.v` and `Gaussians.v` tell more. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Coquelicot Require Import Coquelicot.
From Proofs Require Import Laws Shares Whole.
Open Scope R_scope.

(** The sum of two independent integers. *)
Definition sum_law (a b : Z -> R) (x : Z) : R := Series (folded (fun y => a y * b (Z.sub x y))).

(** * The sum of two laws is a law *)

(** Chances of n integers from `low` on, and of those of at most n in size. *)
Fixpoint span (f : Z -> R) (low : Z) (n : nat) : R :=
  match n with O => 0 | S rest => span f low rest + f (low + Z.of_nat rest)%Z end.
Definition upto (f : Z -> R) (n : nat) : R := sum_n (folded f) n.

Lemma span_split : forall f m low n, span f low (n + m) = span f low n + span f (low + Z.of_nat n) m.
Proof.
  induction m; intros low n; [rewrite Nat.add_0_r; simpl; ring|].
  replace (n + S m)%nat with (S (n + m)) by lia. cbn [span]. rewrite IHm.
  replace (low + Z.of_nat (n + m))%Z with (low + Z.of_nat n + Z.of_nat m)%Z by lia. ring.
Qed.

Lemma span_not_negative : forall f n low, (forall x, 0 <= f x) -> 0 <= span f low n.
Proof. induction n; intros low F; cbn [span]; [lra|]. specialize (IHn low F). specialize (F (low + Z.of_nat n)%Z). lra. Qed.

Lemma span_inside : forall f low n low' n', (forall x, 0 <= f x) -> (low <= low')%Z ->
  (low' + Z.of_nat n' <= low + Z.of_nat n)%Z -> span f low' n' <= span f low n.
Proof.
  intros f low n low' n' F A B.
  replace n with (Z.to_nat (low' - low) + (n' + Z.to_nat (low + Z.of_nat n - low' - Z.of_nat n')))%nat by lia.
  rewrite !span_split.
  replace (low + Z.of_nat (Z.to_nat (low' - low)))%Z with low' by lia.
  pose proof (span_not_negative f (Z.to_nat (low' - low)) low F).
  pose proof (span_not_negative f (Z.to_nat (low + Z.of_nat n - low' - Z.of_nat n')) (low' + Z.of_nat n') F). lra.
Qed.

Lemma span_shifted : forall f y n low, span (fun x => f (x - y)%Z) low n = span f (low - y) n.
Proof. induction n; intros low; cbn [span]; [reflexivity|]. rewrite IHn. do 2 f_equal. lia. Qed.

Lemma upto_is_span : forall f n, upto f n = span f (- Z.of_nat n) (S (2 * n)).
Proof.
  unfold upto. induction n.
  - rewrite sum_O. cbn [span folded]. symmetry. apply Rplus_0_l.
  - rewrite sum_Sn, IHn. unfold plus. cbn [folded].
    replace (S (2 * S n)) with (1 + (S (2 * n) + 1))%nat by lia. rewrite !span_split. cbn [span].
    replace (- Z.of_nat (S n) + Z.of_nat 1)%Z with (- Z.of_nat n)%Z by lia.
    replace (- Z.of_nat (S n) + Z.of_nat 0)%Z with (- Z.of_nat (S n))%Z by lia.
    replace (- Z.of_nat n + Z.of_nat (S (2 * n)) + Z.of_nat 0)%Z with (Z.of_nat (S n)) by lia.
    simpl. ring.
Qed.

Lemma folded_plus : forall f g n, folded (fun x => f x + g x) n = folded f n + folded g n.
Proof. intros f g [|n]; cbn [folded]; ring. Qed.

Lemma folded_times : forall c f n, folded (fun x => c * f x) n = c * folded f n.
Proof. intros c f [|n]; cbn [folded]; ring. Qed.

Lemma folded_le : forall f g n, (forall x, f x <= g x) -> folded f n <= folded g n.
Proof. intros f g [|n] H; cbn [folded]; [apply H|]. apply Rplus_le_compat; apply H. Qed.

Lemma folded_not_negative : forall f n, (forall x, 0 <= f x) -> 0 <= folded f n.
Proof. intros f [|n] H; cbn [folded]; [apply H|]. apply Rplus_le_le_0_compat; apply H. Qed.

Lemma zero_series : Series (fun _ : nat => 0 * 0) = 0.
Proof. rewrite Series_scal_l. ring. Qed.

(** A series of numbers that are not negative is above each of its partial sums. *)
Lemma partial_below : forall f n, (forall k, 0 <= f k) -> ex_series f -> sum_n f n <= Series f.
Proof.
  intros f n F E.
  apply (is_lim_seq_incr_compare (sum_n f) (Series f)); [apply Series_correct, E|].
  intros k. rewrite sum_Sn. unfold plus. simpl. specialize (F (S k)). lra.
Qed.

Section Two.

Variables a b : Z -> R.
Hypothesis A : adds_up_both_ways a.
Hypothesis B : adds_up_both_ways b.

Lemma upto_at_most_one : forall f n, adds_up_both_ways f -> upto f n <= 1.
Proof.
  intros f n [N S]. rewrite <- (is_series_unique _ _ S). apply partial_below; [|exists 1; exact S].
  intros k. apply folded_not_negative, N.
Qed.

Lemma span_at_most_one : forall low n, span b low n <= 1.
Proof.
  intros low n. apply Rle_trans with (upto b (Z.to_nat (Z.abs low) + n)); [|apply upto_at_most_one, B].
  rewrite upto_is_span. apply span_inside; [apply B|lia|lia].
Qed.

Lemma weighted_exists : forall f, (forall y, 0 <= f y <= 1) -> ex_series (folded (fun y => a y * f y)).
Proof.
  intros f F. apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (folded a)); [|exists 1; apply A].
  intros n. change (norm ?t) with (Rabs t). destruct A as [N _].
  assert (P : forall y, 0 <= a y * f y <= a y) by (intros y; specialize (N y); specialize (F y); nra).
  rewrite Rabs_right by (apply Rle_ge, folded_not_negative; apply P). apply folded_le. apply P.
Qed.

Lemma one_at_most_one : forall x, 0 <= b x <= 1.
Proof.
  intros x. split; [apply B|]. pose proof (span_at_most_one x 1) as S. cbn [span] in S.
  rewrite Z.add_0_r in S. lra.
Qed.

Lemma span_of_sum : forall n low,
  span (sum_law a b) low n = Series (folded (fun y => a y * span b (low - y) n)).
Proof.
  induction n; intros low.
  - transitivity (Series (fun _ : nat => 0 * 0)); [symmetry; apply zero_series|].
    apply Series_ext. intros [|k]; cbn [folded span]; ring.
  - cbn [span]. rewrite IHn. unfold sum_law. rewrite <- Series_plus.
    + apply Series_ext. intros k. rewrite <- folded_plus. destruct k; cbn [folded].
      * replace (low - 0 + Z.of_nat n)%Z with (low + Z.of_nat n - 0)%Z by lia. ring.
      * replace (low - Z.of_nat (S k) + Z.of_nat n)%Z with (low + Z.of_nat n - Z.of_nat (S k))%Z by lia.
        replace (low - Z.opp (Z.of_nat (S k)) + Z.of_nat n)%Z with (low + Z.of_nat n - Z.opp (Z.of_nat (S k)))%Z
          by lia. ring.
    + apply weighted_exists. intros y. split; [apply span_not_negative, B|apply span_at_most_one].
    + apply weighted_exists. intros y. apply one_at_most_one.
Qed.

Lemma sum_law_not_negative : forall x, 0 <= sum_law a b x.
Proof.
  intros x. unfold sum_law. rewrite <- zero_series. apply Series_le.
  - intros n. rewrite Rmult_0_l. split; [lra|]. apply folded_not_negative. intros y. apply Rmult_le_pos; [apply A|apply B].
  - apply weighted_exists. intros y. apply one_at_most_one.
Qed.

Lemma sum_law_between : forall n, upto a n * upto b n <= upto (sum_law a b) (2 * n) /\ upto (sum_law a b) n <= 1.
Proof.
  intros n. split.
  - rewrite (upto_is_span (sum_law a b)), span_of_sum.
    set (f := fun y => a y * span b (- Z.of_nat (2 * n) - y) (S (2 * (2 * n)))).
    assert (F : forall y, 0 <= f y).
    { intros y. unfold f. apply Rmult_le_pos; [apply A|apply span_not_negative, B]. }
    apply Rle_trans with (sum_n (folded f) n).
    + change (sum_n (folded f) n) with (upto f n). rewrite !upto_is_span.
      assert (G : forall m low, (- Z.of_nat n <= low)%Z -> (low + Z.of_nat m <= Z.of_nat n + 1)%Z ->
        span a low m * span b (- Z.of_nat n) (S (2 * n)) <= span f low m).
      { induction m; intros low L H; [change (0 * span b (- Z.of_nat n) (Datatypes.S (2 * n)) <= 0); lra|].
        specialize (IHm low L ltac:(lia)).
        change (span a low (Datatypes.S m)) with (span a low m + a (low + Z.of_nat m)%Z).
        change (span f low (Datatypes.S m)) with (span f low m + f (low + Z.of_nat m)%Z).
        rewrite Rmult_plus_distr_r. apply Rplus_le_compat; [exact IHm|]. unfold f.
        apply Rmult_le_compat_l; [apply A|]. apply span_inside; [apply B|lia|lia]. }
      apply G; lia.
    + apply partial_below; [intros k; apply folded_not_negative, F|].
      apply weighted_exists. intros y. split; [apply span_not_negative, B|apply span_at_most_one].
  - rewrite upto_is_span, span_of_sum.
    destruct A as [N S]. rewrite <- (is_series_unique _ _ S). apply Series_le; [|exists 1; exact S].
    intros k. assert (P : forall y, 0 <= a y * span b (- Z.of_nat n - y) (Datatypes.S (2 * n)) <= a y).
    { intros y. specialize (N y). pose proof (span_at_most_one (- Z.of_nat n - y) (Datatypes.S (2 * n))).
      pose proof (span_not_negative b (Datatypes.S (2 * n)) (- Z.of_nat n - y) (proj1 B)). nra. }
    split; [apply folded_not_negative; apply P|apply folded_le; apply P].
Qed.

Theorem sums_add_up : adds_up_both_ways (sum_law a b).
Proof.
  split; [apply sum_law_not_negative|].
  change (is_lim_seq (upto (sum_law a b)) 1).
  assert (L : is_lim_seq (fun n => upto a n * upto b n) 1).
  { replace (Finite 1) with (Rbar_mult 1 1) by (simpl; f_equal; ring).
    apply is_lim_seq_mult'; [apply (proj2 A)|apply (proj2 B)]. }
  apply is_lim_seq_spec. intros e. apply is_lim_seq_spec in L. destruct (L e) as [m M].
  exists (2 * m)%nat. intros n N. specialize (M m (le_n m)).
  destruct (sum_law_between m) as [Low _]. destruct (sum_law_between n) as [_ Up].
  assert (Grow : upto (sum_law a b) (2 * m) <= upto (sum_law a b) n).
  { rewrite !upto_is_span. apply span_inside; [apply sum_law_not_negative|lia|lia]. }
  apply Rabs_lt_between in M. apply Rabs_lt_between. destruct e as [e E]. simpl in *. lra.
Qed.

End Two.

(** * Two laws whose chances differ by at most a factor exp(e) *)

Definition close (e : R) (a b : Z -> R) : Prop := forall x, a x <= exp e * b x /\ b x <= exp e * a x.

Lemma close_self : forall a, close 0 a a.
Proof. intros a x. rewrite exp_0. lra. Qed.

Lemma close_then : forall d e a b c, close d a b -> close e b c -> close (d + e) a c.
Proof.
  intros d e a b c D E x. destruct (D x) as [D1 D2], (E x) as [E1 E2]. rewrite exp_plus.
  pose proof (exp_pos d). pose proof (exp_pos e). split.
  - apply Rle_trans with (1 := D1). rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
  - apply Rle_trans with (1 := E2). rewrite (Rmult_comm (exp d)), Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

Lemma close_less : forall d e a b, (forall x, 0 <= a x) -> (forall x, 0 <= b x) -> d <= e -> close d a b -> close e a b.
Proof.
  intros d e a b A B L C x. destruct (C x) as [C1 C2]. specialize (A x). specialize (B x).
  assert (exp d <= exp e) by (destruct L as [L| ->]; [left; apply exp_increasing, L|lra]).
  split; [apply Rle_trans with (1 := C1)|apply Rle_trans with (1 := C2)]; apply Rmult_le_compat_r; assumption.
Qed.

(** A bound on a ratio stays where the same independent number is added. *)
Lemma close_sums : forall e a b c, adds_up_both_ways a -> adds_up_both_ways b -> adds_up_both_ways c ->
  close e a b -> close e (sum_law a c) (sum_law b c).
Proof.
  assert (One : forall e a b c x, adds_up_both_ways a -> adds_up_both_ways b -> adds_up_both_ways c ->
    (forall y, a y <= exp e * b y) -> sum_law a c x <= exp e * sum_law b c x).
  { intros e a b c x A B C L. unfold sum_law. rewrite <- Series_scal_l. apply Series_le.
    - intros n. split; [apply folded_not_negative; intros y; apply Rmult_le_pos; [apply A|apply C]|].
      rewrite <- folded_times. apply folded_le. intros y. rewrite <- Rmult_assoc.
      apply Rmult_le_compat_r; [apply C|apply L].
    - apply (ex_series_scal_l (exp e) (folded (fun y => b y * c (Z.sub x y)))).
      apply (weighted_exists b B). intros y. apply (one_at_most_one c C). }
  intros e a b c A B C E x. split; apply One; try assumption; intros y; apply E.
Qed.

(** * Discrete Gaussian numbers *)

(** What is left of a sum over the lattice, around a place that need not be an integer. *)
Definition around (v t : R) : R := Series (folded (fun y => exp (- ((IZR y - t) ^ 2 / (2 * v))))).

Lemma bells_multiply : forall a b x y, 0 < a -> 0 < b ->
  bell a y * bell b (x - y)%Z
  = bell (a + b) x * exp (- ((IZR y - a / (a + b) * IZR x) ^ 2 / (2 * (a * b / (a + b))))).
Proof.
  intros a b x y A B. unfold bell. rewrite <- !exp_plus. f_equal. rewrite minus_IZR. field. lra.
Qed.

Lemma gaussian_sum : forall a b x, 0 < a -> 0 < b ->
  sum_law (discrete_gaussian a) (discrete_gaussian b) x
  = / (Series (folded (bell a)) * Series (folded (bell b)))
    * (bell (a + b) x * around (a * b / (a + b)) (a / (a + b) * IZR x)).
Proof.
  intros a b x A B. unfold sum_law, around, discrete_gaussian.
  pose proof (bell_sum_positive a A) as Za. pose proof (bell_sum_positive b B) as Zb.
  set (za := Series (folded (bell a))) in *. set (zb := Series (folded (bell b))) in *.
  rewrite <- !Series_scal_l. apply Series_ext. intros n. rewrite <- !folded_times.
  assert (E : forall y, bell a y / za * (bell b (x - y)%Z / zb) = / (za * zb) * (bell (a + b) x
    * exp (- ((IZR y - a / (a + b) * IZR x) ^ 2 / (2 * (a * b / (a + b))))))).
  { intros y. rewrite <- bells_multiply by assumption. field. lra. }
  destruct n; cbn [folded]; rewrite !E; reflexivity.
Qed.
