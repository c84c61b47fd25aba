(** Sums of discrete Gaussian shares (`noise/shared.py`): how far they are from one discrete Gaussian number. Poisson's
    summation formula is a hypothesis of the section in which it is used; all else is proved. *)

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

Section Poisson.

(** Poisson's summation formula for Gaussian functions: the one thing here that is assumed, in the open. *)
Hypothesis summation : forall v t, 0 < v -> around v t
  = sqrt (2 * PI * v) * (1 + 2 * Series (fun k =>
      exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t))).

(** How small the terms after the first are. *)
Definition wave (v : R) : R := exp (- (2 * PI ^ 2 * v)).

Lemma wave_is_small : forall v, / 2 <= v -> 0 < wave v <= / 16.
Proof.
  intros v V. unfold wave. split; [apply exp_pos|].
  assert (3 <= PI) by (pose proof PI2_3_2; lra).
  assert (L : 9 <= 2 * PI ^ 2 * v) by nra.
  rewrite exp_Ropp. apply Rinv_le_contravar; [lra|].
  assert (exp 9 <= exp (2 * PI ^ 2 * v)) by (destruct L as [L| <-]; [left; apply exp_increasing, L|lra]).
  apply Rle_trans with (2 := H0).
  replace 9 with (3 + 3 + 3) by ring. rewrite !exp_plus. pose proof (exp_ineq1 3 ltac:(lra)).
  assert (16 <= exp 3 * exp 3) by nra. nra.
Qed.

Lemma wave_term : forall v t k, 0 < v ->
  Rabs (exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t)) <= wave v * wave v ^ k.
Proof.
  intros v t k V. pose proof (exp_pos (- (2 * PI ^ 2 * v * INR (S k) ^ 2))) as Px. rewrite Rabs_mult.
    rewrite (Rabs_right (exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)))) by lra.
    apply Rle_trans with (exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * 1).
    - apply Rmult_le_compat_l; [lra|]. apply Rabs_le. apply COS_bound.
    - rewrite Rmult_1_r. change (wave v * wave v ^ k) with (wave v ^ S k). unfold wave.
      rewrite <- (Rpower_pow (S k) (exp (- (2 * PI ^ 2 * v)))) by apply exp_pos. unfold Rpower. rewrite ln_exp.
      assert (N : 1 <= INR (S k)) by (rewrite S_INR; pose proof (pos_INR k); lra).
      set (n := INR (S k)) in *. set (c := 2 * PI ^ 2 * v).
      assert (C : 0 <= c) by (unfold c; pose proof (pow2_ge_0 PI); apply Rmult_le_pos; lra).
      assert (L : - (c * n ^ 2) <= n * - c).
      { assert (c * n <= c * n ^ 2); [|lra]. apply Rmult_le_compat_l; [exact C|]. simpl. nra. }
      destruct L as [L|L]; [left; apply exp_increasing, L|right; f_equal; exact L].
Qed.

Lemma waves_add_up : forall v t, / 2 <= v ->
  Rabs (Series (fun k => exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t)))
  <= wave v / (1 - wave v).
Proof.
  intros v t V. pose proof (wave_is_small v V) as W. set (q := wave v) in *.
  assert (T : forall k, Rabs (exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t)) <= q * q ^ k).
  { intros k. apply wave_term. lra. }
  assert (G : is_series (fun k => q * q ^ k) (q / (1 - q))).
  { apply (is_series_scal_l q (fun k => q ^ k)), is_series_geom. rewrite Rabs_right; lra. }
  assert (Ex : ex_series (fun k => Rabs (exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t)))).
  { apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (fun k => q * q ^ k)); [|eexists; exact G].
    intros k. change (norm ?x) with (Rabs x). rewrite Rabs_Rabsolu. apply T. }
  apply Rle_trans with (1 := Series_Rabs _ Ex). rewrite <- (is_series_unique _ _ G).
  apply Series_le; [intros k; split; [apply Rabs_pos|apply T]|eexists; exact G].
Qed.

(** Sums over the lattice are all alike, wherever their centre is. *)
Lemma around_is_flat : forall v, / 2 <= v -> exists low high, 0 < low /\ high <= exp (5 * wave v) * low /\
  forall t, low <= around v t <= high.
Proof.
  intros v V. pose proof (wave_is_small v V) as W. set (q := wave v) in *.
  assert (K : 0 < sqrt (2 * PI * v)) by (apply sqrt_lt_R0; pose proof PI_RGT_0; nra).
  set (e := 2 * (q / (1 - q))).
  assert (E : e * (1 - q) = 2 * q) by (unfold e; field; lra).
  assert (E0 : 0 < e) by (unfold e; apply Rmult_lt_0_compat; [lra|apply Rdiv_lt_0_compat; lra]).
  assert (E1 : e <= / 4) by nra.
  exists (sqrt (2 * PI * v) * (1 - e)), (sqrt (2 * PI * v) * (1 + e)).
  split; [apply Rmult_lt_0_compat; lra|]. split.
  - pose proof (exp_ineq1_le (5 * q)).
    assert (1 + e <= (1 + 5 * q) * (1 - e)) by nra.
    assert ((1 + 5 * q) * (1 - e) <= exp (5 * q) * (1 - e)) by (apply Rmult_le_compat_r; lra).
    set (k := sqrt (2 * PI * v)) in *.
    replace (exp (5 * q) * (k * (1 - e))) with (k * (exp (5 * q) * (1 - e))) by ring.
    apply Rmult_le_compat_l; lra.
  - intros t. rewrite summation by lra. pose proof (waves_add_up v t V) as S. apply Rabs_le_between in S.
    fold q in S. assert (2 * (q / (1 - q)) = e) by reflexivity.
    split; apply Rmult_le_compat_l; lra.
Qed.

(** Two discrete Gaussian numbers add up to nearly one. *)
Theorem two_gaussians : forall a b, 0 < a -> 0 < b -> / 2 <= a * b / (a + b) ->
  close (5 * wave (a * b / (a + b)))
    (sum_law (discrete_gaussian a) (discrete_gaussian b)) (discrete_gaussian (a + b)).
Proof.
  intros a b A B V. destruct (around_is_flat _ V) as [low [high [L [H Flat]]]].
  set (e := 5 * wave (a * b / (a + b))) in *.
  pose proof (sums_add_up _ _ (gaussian_adds_up a A) (gaussian_adds_up b B)) as [Ns Ss].
  assert (AB : 0 < a + b) by lra.
  pose proof (bell_sum_positive a A) as Za. pose proof (bell_sum_positive b B) as Zb.
  pose proof (bell_sum_positive (a + b) AB) as Z.
  set (c := / (Series (folded (bell a)) * Series (folded (bell b)))).
  assert (C : 0 < c) by (unfold c; apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption).
  set (z := Series (folded (bell (a + b)))) in *.
  assert (Eq : forall x, sum_law (discrete_gaussian a) (discrete_gaussian b) x
    = c * (bell (a + b) x * around (a * b / (a + b)) (a / (a + b) * IZR x)))
    by (intros; apply gaussian_sum; assumption).
  assert (Pos : forall x, 0 < bell (a + b) x) by (intros; apply exp_pos).
  assert (Low : forall x, c * low * bell (a + b) x <= sum_law (discrete_gaussian a) (discrete_gaussian b) x).
  { intros x. rewrite Eq. specialize (Pos x). destruct (Flat (a / (a + b) * IZR x)).
    replace (c * low * bell (a + b) x) with (c * (bell (a + b) x * low)) by ring.
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
  assert (Up : forall x, sum_law (discrete_gaussian a) (discrete_gaussian b) x <= c * high * bell (a + b) x).
  { intros x. rewrite Eq. specialize (Pos x). destruct (Flat (a / (a + b) * IZR x)).
    replace (c * high * bell (a + b) x) with (c * (bell (a + b) x * high)) by ring.
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra. }
  pose proof (bell_sum_exists (a + b) AB) as Ex.
  assert (One : c * low * z <= 1).
  { unfold z. rewrite <- Series_scal_l, <- (is_series_unique _ _ Ss). apply Series_le; [|exists 1; exact Ss].
    intros n. rewrite <- folded_times. split; [|apply folded_le, Low].
    apply folded_not_negative. intros x. specialize (Pos x). apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]. }
  assert (Two : 1 <= c * high * z).
  { unfold z. rewrite <- Series_scal_l, <- (is_series_unique _ _ Ss). apply Series_le.
    - intros n. rewrite <- folded_times. split; [apply folded_not_negative, Ns|apply folded_le, Up].
    - apply (ex_series_scal_l (c * high) (folded (bell (a + b)))), Ex. }
  pose proof (exp_pos e) as Pe.
  intros x. unfold discrete_gaussian at 3 4. fold z. specialize (Pos x). specialize (Low x). specialize (Up x).
  assert (I : 0 < / z) by (apply Rinv_0_lt_compat, Z). split.
  - apply Rle_trans with (1 := Up). apply Rmult_le_reg_r with z; [exact Z|].
    replace (exp e * (bell (a + b) x / z) * z) with (exp e * bell (a + b) x) by (field; lra).
    replace (c * high * bell (a + b) x * z) with (c * z * high * bell (a + b) x) by ring.
    apply Rmult_le_compat_r; [lra|].
    apply Rle_trans with (c * z * (exp e * low)); [apply Rmult_le_compat_l; [nra|exact H]|].
    replace (c * z * (exp e * low)) with (exp e * (c * low * z)) by ring. rewrite <- (Rmult_1_r (exp e)) at 2.
    apply Rmult_le_compat_l; lra.
  - apply Rle_trans with (exp e * (c * low * bell (a + b) x)); [|apply Rmult_le_compat_l; lra].
    apply Rmult_le_reg_r with z; [exact Z|].
    replace (bell (a + b) x / z * z) with (1 * bell (a + b) x) by (field; lra).
    replace (exp e * (c * low * bell (a + b) x) * z) with (c * z * (exp e * low) * bell (a + b) x) by ring.
    apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (1 := Two).
    replace (c * high * z) with (c * z * high) by ring. apply Rmult_le_compat_l; [nra|exact H].
Qed.

(** Shares of variance a, so many and one more. *)
Fixpoint gaussian_shares (a : R) (more : nat) : Z -> R :=
  match more with
  | O => discrete_gaussian a
  | S rest => sum_law (gaussian_shares a rest) (discrete_gaussian a)
  end.

Lemma gaussian_shares_add_up : forall a more, 0 < a -> adds_up_both_ways (gaussian_shares a more).
Proof.
  intros a more A. induction more; [apply gaussian_adds_up, A|]. apply sums_add_up; [exact IHmore|apply gaussian_adds_up, A].
Qed.

(** The gap of all shares in a coordinate, as the program states it: 5 (h - 1) exp(-pi^2 s^2 / m). *)
Definition gap (a : R) (more : nat) : R := 5 * INR more * exp (- (PI ^ 2 * a)).

Theorem gaussian_shares_are_close : forall a more, 1 <= a ->
  close (gap a more) (gaussian_shares a more) (discrete_gaussian (INR (S more) * a)).
Proof.
  intros a more A. induction more.
  - replace (gap a 0) with 0 by (unfold gap; simpl; ring). simpl INR. rewrite Rmult_1_l. apply close_self.
  - assert (N : 1 <= INR (S more)) by (rewrite S_INR; pose proof (pos_INR more); lra).
    assert (Pos : 0 < INR (S more) * a) by nra.
    replace (gap a (S more)) with (gap a more + 5 * exp (- (PI ^ 2 * a))) by (unfold gap; rewrite (S_INR more); ring).
    apply close_then with (sum_law (discrete_gaussian (INR (S more) * a)) (discrete_gaussian a)).
    { cbn [gaussian_shares]. apply close_sums; try apply gaussian_adds_up; try lra;
        [apply gaussian_shares_add_up; lra|exact IHmore]. }
    replace (INR (S (S more)) * a) with (INR (S more) * a + a) by (rewrite (S_INR (S more)); ring).
    set (n := INR (S more)) in *. set (v := n * a * a / (n * a + a)).
    assert (V : a / 2 <= v).
    { unfold v. replace (n * a * a / (n * a + a)) with (a * (n / (n + 1))) by (field; lra).
      apply Rmult_le_compat_l; [lra|]. apply Rmult_le_reg_r with (n + 1); [lra|].
      replace (n / (n + 1) * (n + 1)) with n by (field; lra). lra. }
    apply close_less with (5 * wave v).
    + apply sums_add_up; apply gaussian_adds_up; lra.
    + apply gaussian_adds_up. lra.
    + apply Rmult_le_compat_l; [lra|]. unfold wave.
      assert (L : - (2 * PI ^ 2 * v) <= - (PI ^ 2 * a)) by (pose proof (pow2_ge_0 PI); nra).
      destruct L as [L|L]; [left; apply exp_increasing, L|right; now rewrite L].
    + apply two_gaussians; [exact Pos|lra|fold v; lra].
Qed.

(** * What a discrete Gaussian number loses *)

Lemma wave_below_one : forall v, 0 < v -> 0 < wave v < 1.
Proof.
  intros v V. unfold wave. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
  pose proof PI_RGT_0. assert (0 < PI ^ 2 * v) by (apply Rmult_lt_0_compat; [apply pow_lt; lra|exact V]). lra.
Qed.

Lemma waves_exist : forall v t, 0 < v ->
  ex_series (fun k => exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t)).
Proof.
  intros v t V. pose proof (wave_below_one v V) as W.
  apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (fun k => wave v * wave v ^ k)).
  - intros k. change (norm ?x) with (Rabs x). apply wave_term, V.
  - apply (ex_series_scal_l (wave v) (fun k => wave v ^ k)). exists (/ (1 - wave v)).
    apply is_series_geom. rewrite Rabs_right; lra.
Qed.

(** A sum over the lattice is largest around an integer. *)
Lemma around_is_largest : forall v t, 0 < v -> around v t <= around v 0.
Proof.
  intros v t V. rewrite !summation by exact V.
  assert (K : 0 < sqrt (2 * PI * v)) by (apply sqrt_lt_R0; pose proof PI_RGT_0; nra).
  apply Rmult_le_compat_l; [lra|]. apply Rplus_le_compat_l. apply Rmult_le_compat_l; [lra|].
  apply Rminus_le_0. rewrite <- Series_minus by (apply waves_exist, V).
  apply Rle_trans with (Series (fun _ : nat => 0 * 0)); [rewrite zero_series; lra|]. apply Series_le.
  - intros k. rewrite Rmult_0_l. split; [lra|]. rewrite <- Rmult_minus_distr_l. apply Rmult_le_pos; [left; apply exp_pos|].
    rewrite Rmult_0_r, cos_0. pose proof (COS_bound (2 * PI * INR (S k) * t)). lra.
  - apply (ex_series_minus (V := R_NormedModule)
      (fun k => exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * 0))
      (fun k => exp (- (2 * PI ^ 2 * v * INR (S k) ^ 2)) * cos (2 * PI * INR (S k) * t))); apply waves_exist, V.
Qed.

(** The Renyi divergence of every order alpha from the number that is shifted by an integer m is at most rho alpha, for
    rho = m^2 / 2 v: a number of variance v is rho-concentrated. *)
Theorem gaussian_is_concentrated : forall v m alpha, 0 < v -> 1 < alpha ->
  Series (folded (fun x => Rpower (discrete_gaussian v x) alpha * Rpower (discrete_gaussian v (x - m)) (1 - alpha)))
  <= exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha)).
Proof.
  intros v m alpha V A. pose proof (bell_sum_positive v V) as Z. set (z := Series (folded (bell v))) in *.
  assert (L : forall x, discrete_gaussian v x = exp (- (IZR x ^ 2 / (2 * v)) - ln z)).
  { intros x. unfold discrete_gaussian, bell, Rminus. fold z. rewrite exp_plus, (exp_Ropp (ln z)), (exp_ln z) by exact Z. reflexivity. }
  assert (E : forall x, Rpower (discrete_gaussian v x) alpha * Rpower (discrete_gaussian v (x - m)) (1 - alpha)
    = exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha)) / z * exp (- ((IZR x - (1 - alpha) * IZR m) ^ 2 / (2 * v)))).
  { intros x. unfold Rpower. rewrite !L, !ln_exp, minus_IZR.
    replace (exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha)) / z)
      with (exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha)) * exp (- ln z))
      by (rewrite (exp_Ropp (ln z)), (exp_ln z) by exact Z; reflexivity).
    rewrite <- !exp_plus. f_equal. field. lra. }
  set (c := exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha))) in *. assert (C : 0 < c) by apply exp_pos.
  rewrite (Series_ext _ (fun n => c / z * folded (fun y => exp (- ((IZR y - (1 - alpha) * IZR m) ^ 2 / (2 * v)))) n)).
  2:{ intros n. rewrite <- folded_times. destruct n; cbn [folded]; rewrite !E; reflexivity. }
  rewrite Series_scal_l. change (Series (folded _)) with (around v ((1 - alpha) * IZR m)).
  assert (Same : around v 0 = z).
  { unfold around, z. apply Series_ext. intros n. unfold bell. destruct n; cbn [folded]; rewrite ?Rminus_0_r; reflexivity. }
  pose proof (around_is_largest v ((1 - alpha) * IZR m) V) as M. rewrite Same in M.
  apply Rle_trans with (c / z * z); [|right; field; lra].
  apply Rmult_le_compat_l; [|exact M]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, Z].
Qed.

End Poisson.

(** Any number of coordinates, with independent noise. *)
Theorem close_vectors : forall size e (a b : nat -> Z -> R) x, (forall j d, 0 <= a j d) -> (forall j d, 0 <= b j d) ->
  (forall j, close e (a j) (b j)) ->
  product size (fun j => a j (x j)) <= exp (INR size * e) * product size (fun j => b j (x j)).
Proof.
  intros size e a b x A B C. induction size; [simpl; rewrite Rmult_0_l, exp_0; lra|].
  rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. cbn [product].
  match goal with |- ?p * ?q <= ?e * ?f * (?p' * ?q') => replace (e * f * (p' * q')) with ((e * p') * (f * q')) by ring end.
  apply Rmult_le_compat; [|apply A|exact IHsize|apply C].
  clear - A. induction size; cbn [product]; [lra|]. apply Rmult_le_pos; [exact IHsize|apply A].
Qed.

(** What is close to a mechanism with a guarantee has nearly that guarantee: p and p' are chances of one event
    for neighbours, g and g' those of the other mechanism. *)
Theorem close_guarantee : forall zeta epsilon delta p g g' p', 0 <= delta ->
  p <= exp zeta * g -> g <= exp epsilon * g' + delta -> g' <= exp zeta * p' ->
  p <= exp (epsilon + 2 * zeta) * p' + exp zeta * delta.
Proof.
  intros zeta epsilon delta p g g' p' D P G P'. pose proof (exp_pos zeta). pose proof (exp_pos epsilon).
  apply Rle_trans with (1 := P). replace (epsilon + 2 * zeta) with (zeta + (epsilon + zeta)) by ring. rewrite !exp_plus.
  apply Rle_trans with (exp zeta * (exp epsilon * g' + delta)); [apply Rmult_le_compat_l; lra|].
  assert (exp epsilon * g' <= exp epsilon * (exp zeta * p')) by (apply Rmult_le_compat_l; lra). nra.
Qed.
