(** Discrete Laplace noise in shares (`numerics/discrete.py`, `noise/shared.py`): the numbers that a share is
    made of have the stated laws, negative binomial shares add up to a geometric number, the difference of
    two is a two-sided geometric one, and what is added to it does no harm. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Coquelicot Require Import Coquelicot.
From Proofs Require Import Laws.
Open Scope R_scope.

(** * Sums of independent numbers from 0 on *)

(** Chances of a sum of two, from the chances of each. *)
Fixpoint both (a b : nat -> R) (k : nat) : R :=
  match k with
  | O => a O * b O
  | S rest => a O * b k + both (fun i => a (S i)) b rest
  end.

(** The number that is always 0, and sums of several numbers of one law. *)
Definition nothing (k : nat) : R := match k with | O => 1 | S rest => 0 end.
Fixpoint several (count : nat) (a : nat -> R) : nat -> R :=
  match count with
  | O => nothing
  | S rest => both a (several rest a)
  end.

Lemma both_ext : forall k a a' b b', (forall i, (i <= k)%nat -> a i = a' i) ->
  (forall i, (i <= k)%nat -> b i = b' i) -> both a b k = both a' b' k.
Proof.
  induction k; simpl; intros a a' b b' A B; [now rewrite A, B by lia|].
  rewrite A, B by lia. f_equal. apply IHk; intros; [apply A|apply B]; lia.
Qed.

Lemma both_next : forall k a b, both a b (S k) = both a (fun i => b (S i)) k + a (S k) * b O.
Proof.
  induction k; intros a b; [simpl; ring|].
  change (both a b (S (S k))) with (a O * b (S (S k)) + both (fun i => a (S i)) b (S k)).
  rewrite IHk. simpl. ring.
Qed.

Lemma both_swap : forall k a b, both a b k = both b a k.
Proof.
  induction k; intros a b; [simpl; ring|]. rewrite both_next. simpl. rewrite IHk. ring.
Qed.

Lemma both_plus : forall k a b c, both (fun i => a i + b i) c k = both a c k + both b c k.
Proof. induction k; simpl; intros; [ring|]. rewrite (IHk (fun i => a (S i))). ring. Qed.

Lemma both_times : forall k x a b, both (fun i => x * a i) b k = x * both a b k.
Proof. induction k; simpl; intros; [ring|]. rewrite (IHk x (fun i => a (S i))). ring. Qed.

Lemma both_times_right : forall k x a b, both a (fun i => x * b i) k = x * both a b k.
Proof. intros. rewrite both_swap, both_times, both_swap. reflexivity. Qed.

Lemma both_zero : forall k a, both a (fun _ => 0) k = 0.
Proof. induction k; simpl; intros; [ring|]. rewrite IHk. ring. Qed.

Lemma both_nothing : forall k a, both a nothing k = a k.
Proof. destruct k; intros a; [simpl; ring|]. rewrite both_next. simpl. rewrite both_zero. ring. Qed.

Lemma both_three : forall k a b c, both (both a b) c k = both a (both b c) k.
Proof.
  induction k; intros a b c; [simpl; ring|].
  change (both (both a b) c (S k)) with
    (a O * b O * c (S k) + both (fun i => a O * b (S i) + both (fun j => a (S j)) b i) c k).
  rewrite (both_plus k (fun i => a O * b (S i)) (both (fun j => a (S j)) b)), both_times, IHk. simpl. ring.
Qed.

(** Products of generating functions are differentiated by the rule for products. *)
Lemma both_derived : forall k a b,
  INR k * both a b k = both (fun i => INR i * a i) b k + both a (fun i => INR i * b i) k.
Proof.
  induction k; intros a b; [simpl; ring|].
  change (both a b (S k)) with (a O * b (S k) + both (fun i => a (S i)) b k).
  change (both (fun i => INR i * a i) b (S k)) with
    (INR 0 * a O * b (S k) + both (fun i => INR (S i) * a (S i)) b k).
  change (both a (fun i => INR i * b i) (S k)) with
    (a O * (INR (S k) * b (S k)) + both (fun i => a (S i)) (fun i => INR i * b i) k).
  rewrite (both_ext k (fun i => INR (S i) * a (S i)) (fun i => INR i * a (S i) + a (S i)) b b)
    by (intros; rewrite ?S_INR; ring).
  rewrite (both_plus k (fun i => INR i * a (S i))), (S_INR k), Rmult_plus_distr_l.
  rewrite (Rmult_plus_distr_r (INR k) 1 (both _ _ _)), IHk. simpl (INR 0). ring.
Qed.

(** * Negative binomial numbers *)

(** p^k r (r + 1) .. (r + k - 1) / k!, and the chances of a share of shape r. *)
Fixpoint rising (r p : R) (k : nat) : R :=
  match k with
  | O => 1
  | S rest => rising r p rest * ((r + INR rest) * p / INR k)
  end.
Definition share (r p : R) (k : nat) : R := Rpower (1 - p) r * rising r p k.
Definition geometric (p : R) (k : nat) : R := (1 - p) * p ^ k.

(** p z / (1 - p z). *)
Definition powers (p : R) (k : nat) : R := match k with | O => 0 | S rest => p ^ k end.

Lemma both_powers : forall p a k, both a (powers p) (S k) = p * (both a (powers p) k + a k).
Proof.
  intros p a k. rewrite both_next. simpl (powers p 0).
  rewrite (both_ext k a a (fun i => powers p (S i)) (fun i => p * (powers p i + nothing i))); auto.
  - rewrite both_times_right, (both_swap k a), (both_plus k (powers p)).
    rewrite (both_swap k nothing), both_nothing, (both_swap k (powers p)). ring.
  - intros [|i] _; simpl; ring.
Qed.

(** One equation has one solution. *)
Lemma follows : forall r p a, (forall k, INR k * a k = r * both a (powers p) k) ->
  forall k, a k = a O * rising r p k.
Proof.
  intros r p a E. induction k; [simpl; ring|].
  assert (N : INR (S k) <> 0) by (apply not_0_INR; lia).
  apply Rmult_eq_reg_l with (INR (S k)); [|exact N].
  rewrite E, both_powers.
  replace (r * (p * (both a (powers p) k + a k))) with (p * (r * both a (powers p) k) + r * p * a k) by ring.
  rewrite <- E, IHk. cbn [rising]. field. exact N.
Qed.

Lemma rising_derived : forall r p k, INR k * rising r p k = r * both (rising r p) (powers p) k.
Proof.
  intros r p. induction k; [simpl; ring|].
  rewrite both_powers.
  replace (r * (p * (both (rising r p) (powers p) k + rising r p k)))
    with (p * (r * both (rising r p) (powers p) k) + r * p * rising r p k) by ring.
  rewrite <- IHk. cbn [rising]. field. apply not_0_INR. lia.
Qed.

Lemma rising_sum : forall r s p k, both (rising r p) (rising s p) k = rising (r + s) p k.
Proof.
  intros r s p k.
  rewrite (follows (r + s) p (both (rising r p) (rising s p))); [simpl; ring|]. clear k. intros k.
  rewrite both_derived.
  rewrite (both_ext k (fun i => INR i * rising r p i) (fun i => r * both (rising r p) (powers p) i) _
    (rising s p)) by (intros; auto using rising_derived).
  rewrite (both_ext k (rising r p) (rising r p) (fun i => INR i * rising s p i)
    (fun i => s * both (rising s p) (powers p) i)) by (intros; auto using rising_derived).
  rewrite both_times, both_times_right, both_three.
  rewrite (both_ext k (rising r p) (rising r p) (both (powers p) (rising s p)) (both (rising s p) (powers p)))
    by (intros; auto using both_swap).
  rewrite <- both_three. ring.
Qed.

Lemma rising_none : forall p k, rising 0 p k = nothing k.
Proof.
  intros p. induction k as [|[|k] IH]; [reflexivity|simpl; field|].
  change (rising 0 p (S (S k))) with (rising 0 p (S k) * ((0 + INR (S k)) * p / INR (S (S k)))).
  rewrite IH. simpl. ring.
Qed.

(** Shares of one shape add up to one of so many times the shape. *)
Theorem shares_add : forall count r p k, 0 < p < 1 -> several count (share r p) k = share (INR count * r) p k.
Proof.
  intros count r p k P. revert k. induction count; intros k.
  - simpl several. unfold share. simpl (INR 0). rewrite Rmult_0_l, Rpower_O, rising_none by lra. ring.
  - cbn [several].
    rewrite (both_ext k (share r p) (fun i => Rpower (1 - p) r * rising r p i) _
      (fun i => Rpower (1 - p) (INR count * r) * rising (INR count * r) p i)) by (auto; intros; apply IHcount).
    rewrite both_times, both_times_right, rising_sum, S_INR. unfold share.
    replace ((INR count + 1) * r) with (r + INR count * r) by ring. rewrite Rpower_plus. ring.
Qed.

(** As many shares as the shape says are one geometric number. *)
Theorem shares_are_geometric : forall parts p k, (0 < parts)%nat -> 0 < p < 1 ->
  several parts (share (1 / INR parts) p) k = geometric p k.
Proof.
  intros parts p k N P. rewrite shares_add by exact P.
  replace (INR parts * (1 / INR parts)) with 1 by (field; apply not_0_INR; lia).
  unfold share, geometric. rewrite Rpower_1 by lra. f_equal.
  induction k; [reflexivity|]. cbn [rising]. rewrite IHk.
  replace (1 + INR k) with (INR (S k)) by (rewrite S_INR; ring).
  rewrite <- tech_pow_Rmult. field. apply not_0_INR. lia.
Qed.

(** * How a share is drawn: a Poisson number of logarithmic ones *)

Fixpoint poisson (mean : R) (n : nat) : R :=
  match n with
  | O => exp (- mean)
  | S rest => poisson mean rest * mean / INR n
  end.
Definition jumps (r p : R) : R := - ln (1 - p) * r.
Definition logarithmic (p : R) (k : nat) : R :=
  match k with | O => 0 | S rest => p ^ k / (INR k * - ln (1 - p)) end.

Lemma several_beyond : forall count a k, a O = 0 -> (k < count)%nat -> several count a k = 0.
Proof.
  induction count; intros a k Z L; [lia|]. cbn [several]. rewrite both_swap.
  destruct k; [simpl; rewrite Z; ring|]. rewrite both_next, Z.
  rewrite (both_ext k (several count a) (fun _ => 0) _ (fun i => a (S i))); auto.
  - rewrite both_swap, both_zero. ring.
  - intros. apply IHcount; [exact Z|lia].
Qed.

Lemma several_derived : forall n g k,
  INR k * several (S n) g k = INR (S n) * both (several n g) (fun i => INR i * g i) k.
Proof.
  induction n; intros g k.
  - cbn [several]. rewrite both_derived, both_nothing, both_swap.
    rewrite (both_ext k (fun i => INR i * nothing i) (fun _ => 0) g g); auto.
    + rewrite both_swap, both_zero, both_swap, both_nothing. simpl. ring.
    + intros [|i] _; simpl; ring.
  - change (several (S (S n)) g) with (both g (several (S n) g)). rewrite both_derived.
    rewrite (both_ext k g g (fun i => INR i * several (S n) g i)
      (fun i => INR (S n) * both (several n g) (fun j => INR j * g j) i)) by (intros; auto).
    rewrite both_times_right, <- both_three, both_swap. change (both g (several n g)) with (several (S n) g).
    rewrite (S_INR (S n)). ring.
Qed.

Lemma both_total : forall size f b k,
  both (fun i => total size (fun n => f n i)) b k = total size (fun n => both (f n) b k).
Proof.
  induction size; intros f b k; simpl.
  - rewrite both_swap. apply both_zero.
  - rewrite (both_plus k (fun i => total size (fun n => f n i))), IHsize. reflexivity.
Qed.

Lemma total_ext : forall size f g, (forall n, (n < size)%nat -> f n = g n) -> total size f = total size g.
Proof. induction size; simpl; intros f g E; [reflexivity|]. rewrite (IHsize f g), E; auto. Qed.

Lemma total_first : forall size f, total (S size) f = f O + total size (fun n => f (S n)).
Proof.
  induction size; intros f; [simpl; ring|].
  change (total (S (S size)) f) with (total (S size) f + f (S size)). rewrite IHsize. simpl. ring.
Qed.

Lemma total_enough : forall more size f, (forall n, (size <= n)%nat -> f n = 0) ->
  total (more + size) f = total size f.
Proof. induction more; intros size f Z; [reflexivity|]. simpl. rewrite IHmore, Z by (auto; lia). ring. Qed.

(** exp(r log(1 / (1 - p z))), by its coefficients. *)
Definition expanded (r p : R) (n k : nat) : R :=
  r ^ n / INR (fact n) * several n (fun i => powers p i / INR i) k.

Lemma expanded_is_rising : forall r p k, total (S k) (fun n => expanded r p n k) = rising r p k.
Proof.
  intros r p k.
  set (a := fun k => total (S k) (fun n => expanded r p n k)).
  assert (Z : forall k n, (S k <= n)%nat -> expanded r p n k = 0).
  { intros j n L. unfold expanded. rewrite several_beyond; [ring| |lia]. simpl. unfold Rdiv. ring. }
  rewrite <- (Rmult_1_l (rising r p k)). replace 1 with (a O).
  2:{ unfold a, expanded. simpl. field. }
  apply (follows r p a). clear k. intros [|k]; [unfold a; simpl; ring|].
  unfold a at 1. rewrite total_first.
  replace (expanded r p 0 (S k)) with 0 by (unfold expanded; simpl; ring). rewrite Rplus_0_l.
  rewrite <- total_scales.
  rewrite (total_ext (S k) _ (fun n => r * both (expanded r p n) (powers p) (S k))).
  - rewrite total_scales. f_equal. rewrite <- both_total.
    rewrite !both_next. simpl (powers p 0). rewrite !Rmult_0_r. f_equal.
    apply both_ext; auto. intros i I. unfold a.
    replace (S k) with ((k - i) + S i)%nat by lia. apply total_enough. intros. apply Z. lia.
  - intros n _. unfold expanded.
    rewrite both_times.
    replace (INR (S k) * (r ^ S n / INR (fact (S n)) * several (S n) (fun i => powers p i / INR i) (S k)))
      with (r ^ S n / INR (fact (S n)) * (INR (S k) * several (S n) (fun i => powers p i / INR i) (S k))) by ring.
    rewrite several_derived.
    rewrite (both_ext (S k) _ (several n (fun i => powers p i / INR i)) (fun i => INR i * (powers p i / INR i))
      (powers p)); auto.
    + change (fact (S n)) with (S n * fact n)%nat. rewrite mult_INR. rewrite <- tech_pow_Rmult.
      field. split; apply not_0_INR; [apply fact_neq_0|lia].
    + intros [|i] _; [simpl; ring|]. field. apply not_0_INR. lia.
Qed.

Theorem poisson_chances : forall mean n, poisson mean n = exp (- mean) * mean ^ n / INR (fact n).
Proof.
  intros mean. induction n; [simpl; field|].
  cbn [poisson]. rewrite IHn. change (fact (S n)) with (S n * fact n)%nat. rewrite mult_INR, <- tech_pow_Rmult.
  field. split; apply not_0_INR; [apply fact_neq_0|lia].
Qed.

(** `_poisson`: the least number whose distribution function exceeds a uniform variable is n on an interval as
    long as the chance of n. *)
Theorem least_number_is_poisson : forall mean u n, 0 < mean -> 0 <= u ->
  (u < total (S n) (poisson mean) /\ forall k, (k < n)%nat -> total (S k) (poisson mean) <= u) <->
  total n (poisson mean) <= u < total n (poisson mean) + poisson mean n.
Proof.
  intros mean u n M U.
  assert (Pos : forall k, 0 <= poisson mean k).
  { intros k. rewrite poisson_chances. apply Rmult_le_pos.
    - apply Rmult_le_pos; [left; apply exp_pos|apply pow_le; lra].
    - left. apply Rinv_0_lt_compat, INR_fact_lt_0. }
  assert (Grows : forall more k, total k (poisson mean) <= total (more + k) (poisson mean)).
  { induction more; intros k; simpl; [lra|]. specialize (IHmore k). pose proof (Pos (more + k)%nat). lra. }
  split.
  - intros [A B]. simpl in A. split; [|exact A]. destruct n; [exact U|apply B; lia].
  - intros [A B]. split; [exact B|]. intros k K. replace n with ((n - S k) + S k)%nat in A by lia.
    apply Rle_trans with (2 := A). apply Grows.
Qed.

Lemma several_times : forall n x g k, several n (fun i => x * g i) k = x ^ n * several n g k.
Proof.
  induction n; intros x g k; [simpl; ring|]. cbn [several].
  rewrite (both_ext k (fun i => x * g i) (fun i => x * g i) _ (fun i => x ^ n * several n g i)); auto.
  rewrite both_times, both_times_right, <- tech_pow_Rmult. ring.
Qed.

(** A Poisson number of logarithmic numbers is a share. Terms from `most` on are 0: k is not the sum of more
    than k numbers from 1 on. *)
Theorem drawn_share : forall r p k most, 0 < p < 1 -> (k < most)%nat ->
  total most (fun n => poisson (jumps r p) n * several n (logarithmic p) k) = share r p k.
Proof.
  intros r p k most P M. replace most with ((most - S k) + S k)%nat by lia.
  rewrite total_enough.
  2:{ intros n N. rewrite several_beyond; [ring|reflexivity|lia]. }
  unfold share. rewrite <- expanded_is_rising, <- total_scales. apply total_ext. intros n _.
  assert (L : ln (1 - p) < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
  rewrite poisson_chances.
  assert (E : several n (logarithmic p) k = (/ - ln (1 - p)) ^ n * several n (fun i => powers p i / INR i) k).
  { rewrite <- several_times. generalize k. clear -L. induction n; intros k; [reflexivity|]. cbn [several].
    apply both_ext; auto. intros [|i] _; unfold powers, logarithmic; [unfold Rdiv; ring|].
    field. split; [apply not_0_INR; lia|lra]. }
  rewrite E. unfold expanded, Rpower, jumps.
  replace (- (- ln (1 - p) * r)) with (r * ln (1 - p)) by ring.
  rewrite Rpow_mult_distr. rewrite pow_inv. field. split; [apply INR_fact_neq_0|apply pow_nonzero; lra].
Qed.

(** * From uniform numbers *)

(** Kemp's ratio, and the values whose nearest integers are taken. *)
Definition kemp (p uniform : R) : R := 1 - exp (uniform * ln (1 - p)).
Definition kemp_value (p uniform other : R) : R := ln other / ln (kemp p uniform) + 1 / 2.
Definition floor_value (uniform top below : R) : R := (- (2) * ln uniform * top / below - 1) / 2.

(** The floor of a quotient of logarithms is k for uniforms in an interval of length q^k (1 - q). *)
Lemma floor_of_logs : forall q v k, 0 < q < 1 -> 0 < v ->
  INR k <= ln v / ln q < INR (S k) <-> q ^ S k < v <= q ^ k.
Proof.
  intros q v k Q V. assert (L : ln q < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (Power : forall n, q ^ n = exp (INR n * ln q)).
  { intros n. rewrite <- (exp_ln (q ^ n)) by (apply pow_lt; lra). f_equal. induction n; [simpl; rewrite ln_1; ring|].
    rewrite <- tech_pow_Rmult, ln_mult, IHn, S_INR by (try apply pow_lt; lra). ring. }
  assert (X : ln v / ln q * ln q = ln v) by (field; lra).
  set (x := ln v / ln q) in *. rewrite !Power. rewrite <- (exp_ln v) by exact V. rewrite <- X.
  split; intros [A B]; split.
  - apply exp_increasing. nra.
  - destruct A as [A|A]; [left; apply exp_increasing; nra|right; now rewrite A].
  - apply Rnot_lt_le. intros C. assert (INR k * ln q < x * ln q) by nra. apply exp_increasing in H. lra.
  - apply exp_lt_inv in A. nra.
Qed.

(** `floors`: geometric numbers of ratio exp(-below / top). *)
Theorem floors_are_geometric : forall u top below k, 0 < u -> 0 < top -> 0 < below ->
  INR k - 1 / 2 <= floor_value u top below < INR k + 1 / 2 <->
  exp (- (below / top)) ^ S k < u <= exp (- (below / top)) ^ k.
Proof.
  intros u top below k U T B.
  assert (Q : 0 < exp (- (below / top)) < 1).
  { split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
    assert (0 < below / top) by (apply Rdiv_lt_0_compat; lra). lra. }
  rewrite <- floor_of_logs by auto. rewrite ln_exp. unfold floor_value.
  replace ((- (2) * ln u * top / below - 1) / 2) with (ln u / - (below / top) - 1 / 2) by (field; lra).
  rewrite S_INR. split; intros [A C]; split; lra.
Qed.

(** Given a ratio q, the nearest integer is k + 1 with chance q^k (1 - q), *)
Theorem sizes_given_a_ratio : forall p u v k, 0 < p < 1 -> 0 < u <= 1 -> 0 < v ->
  0 < kemp p u < 1 /\
  (INR (S k) - 1 / 2 <= kemp_value p u v < INR (S k) + 1 / 2 <-> kemp p u ^ S k < v <= kemp p u ^ k).
Proof.
  intros p u v k P U V.
  assert (L : ln (1 - p) < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (K : 0 < kemp p u < 1).
  { unfold kemp. pose proof (exp_pos (u * ln (1 - p))).
    assert (exp (u * ln (1 - p)) < 1) by (rewrite <- exp_0 at 2; apply exp_increasing; nra). lra. }
  split; [exact K|]. rewrite <- floor_of_logs by auto. unfold kemp_value. rewrite S_INR.
  split; intros [A C]; split; lra.
Qed.

(** and over all ratios it is a logarithmic number. *)
Theorem sizes_are_logarithmic : forall p k, 0 < p < 1 ->
  is_RInt (fun u => kemp p u ^ k * (1 - kemp p u)) 0 1 (logarithmic p (S k)).
Proof.
  intros p k P.
  assert (L : ln (1 - p) < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
  set (F := fun u => kemp p u ^ S k / (INR (S k) * - ln (1 - p))).
  assert (N : INR (S k) <> 0) by (apply not_0_INR; lia).
  replace (logarithmic p (S k)) with (minus (F 1) (F 0)).
  - apply (is_RInt_derive (V := R_CompleteNormedModule) F).
    + intros u _. unfold F, kemp. auto_derive; [exact I|].
      change (match k with 0%nat => 1 | S _ => INR k + 1 end) with (INR (S k)).
      set (n := INR (S k)) in *. clearbody n. unfold Rminus in *. field. split; first [exact N|lra].
    + intros u _. apply (ex_derive_continuous (fun u => kemp p u ^ k * (1 - kemp p u))).
      unfold kemp. auto_derive. exact I.
  - unfold F, kemp, logarithmic, minus, plus, opp. simpl (AbelianGroup.plus _ _ _).
    rewrite Rmult_0_l, Rmult_1_l, exp_0, exp_ln by lra.
    replace (1 - 1) with 0 by ring. replace (1 - (1 - p)) with p by ring.
    change (p ^ S k / (INR (S k) * - ln (1 - p)) + - (0 ^ S k / (INR (S k) * - ln (1 - p)))
      = p ^ S k / (INR (S k) * - ln (1 - p))).
    rewrite pow_i by lia. unfold Rdiv. ring.
Qed.

(** * Two-sided geometric numbers *)

(** Chances of a difference of two independent numbers. *)
Definition difference (a b : nat -> R) (d : Z) : R :=
  Series (fun k => a (k + Z.to_nat d)%nat * b (k + Z.to_nat (- d))%nat).
Definition ratio (b : R) : R := exp (- (1 / b)).
Definition two_sided (p : R) (d : Z) : R := (1 - p) / (1 + p) * p ^ Z.abs_nat d.

Theorem difference_is_two_sided : forall p d, 0 < p < 1 ->
  difference (geometric p) (geometric p) d = two_sided p d.
Proof.
  intros p d P. unfold difference, two_sided.
  rewrite (Series_ext _ (fun k => (1 - p) * (1 - p) * p ^ Z.abs_nat d * (p * p) ^ k)).
  - rewrite Series_scal_l, Series_geom by (rewrite Rabs_right; nra). field. split; nra.
  - intros k. unfold geometric.
    replace (Z.abs_nat d) with (Z.to_nat d + Z.to_nat (- d))%nat by lia.
    rewrite !pow_add, Rpow_mult_distr. ring.
Qed.

Lemma ratio_inside : forall b, 0 < b -> 0 < ratio b < 1.
Proof.
  intros b B. unfold ratio. split; [apply exp_pos|]. rewrite <- exp_0 at 2. apply exp_increasing.
  assert (0 < 1 / b) by (apply Rdiv_lt_0_compat; lra). lra.
Qed.

Lemma ratio_power : forall b n, 0 < b -> ratio b ^ n = exp (- (INR n / b)).
Proof.
  intros b n B. induction n; [simpl; rewrite <- exp_0; f_equal; field; lra|].
  rewrite <- tech_pow_Rmult, IHn, S_INR. unfold ratio. rewrite <- exp_plus. f_equal. field. lra.
Qed.

Theorem two_sided_ratio : forall b d e, 0 < b ->
  0 < two_sided (ratio b) d <= exp (Rabs (IZR (d - e)) / b) * two_sided (ratio b) e.
Proof.
  intros b d e B. unfold two_sided. pose proof (ratio_inside b B) as Q.
  assert (C : 0 < (1 - ratio b) / (1 + ratio b)) by (apply Rdiv_lt_0_compat; lra).
  split; [apply Rmult_lt_0_compat; [exact C|apply pow_lt; lra]|].
  rewrite !ratio_power by exact B.
  replace (exp (Rabs (IZR (d - e)) / b) * ((1 - ratio b) / (1 + ratio b) * exp (- (INR (Z.abs_nat e) / b))))
    with ((1 - ratio b) / (1 + ratio b) * (exp (Rabs (IZR (d - e)) / b) * exp (- (INR (Z.abs_nat e) / b)))) by ring.
  apply Rmult_le_compat_l; [lra|]. rewrite <- exp_plus.
  assert (T : - (INR (Z.abs_nat d) / b) <= Rabs (IZR (d - e)) / b + - (INR (Z.abs_nat e) / b)).
  { rewrite <- abs_IZR, !INR_IZR_INZ, !Zabs2Nat.id_abs.
    assert (H : IZR (Z.abs e) <= IZR (Z.abs (d - e)) + IZR (Z.abs d)) by (rewrite <- plus_IZR; apply IZR_le; lia).
    apply Rmult_le_compat_r with (r := / b) in H; [|left; apply Rinv_0_lt_compat, B]. unfold Rdiv. lra. }
  destruct T as [T|T]; [left; apply exp_increasing, T|right; now rewrite T].
Qed.

Lemma two_sided_at_most_one : forall b d, 0 < b -> two_sided (ratio b) d <= 1.
Proof.
  intros b d B. pose proof (ratio_inside b B) as Q. unfold two_sided.
  assert (0 <= ratio b ^ Z.abs_nat d <= 1).
  { split; [apply pow_le; lra|]. rewrite <- (pow1 (Z.abs_nat d)). apply pow_incr. lra. }
  assert (0 <= (1 - ratio b) / (1 + ratio b) <= 1).
  { split; [apply Rdiv_le_0_compat; lra|]. apply Rmult_le_reg_r with (1 + ratio b); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  nra.
Qed.

(** Several coordinates with scales b, and anything independent added: v i with chance q i, such as the
    shares of further parties. The chance that y comes out where the sum is x: *)
Definition shared_chance (size : nat) (b : nat -> Z) (q : nat -> R) (v : nat -> nat -> Z) (x y : nat -> Z) : R :=
  Series (fun i => q i * product size (fun j => two_sided (ratio (IZR (b j))) (y j - x j - v i j))).

Lemma product_bounds : forall size f, (forall j, 0 <= f j <= 1) -> 0 <= product size f <= 1.
Proof. induction size; simpl; intros f F; [lra|]. specialize (IHsize f F). specialize (F size). nra. Qed.

Lemma product_ratio : forall size (b x x' z : nat -> Z), (forall j, (0 < b j)%Z) ->
  product size (fun j => two_sided (ratio (IZR (b j))) (z j - x j))
  <= exp (loss size b x x') * product size (fun j => two_sided (ratio (IZR (b j))) (z j - x' j)).
Proof.
  intros size b x x' z B. unfold loss. induction size; simpl; [rewrite exp_0; lra|]. rewrite exp_plus.
  assert (Bj : 0 < IZR (b size)) by (apply IZR_lt, B).
  assert (Pos : forall f, 0 <= product size (fun j => two_sided (ratio (IZR (b j))) (f j))).
  { intros f. left. apply product_positive. intros j.
    apply (two_sided_ratio (IZR (b j)) _ 0). apply IZR_lt, B. }
  destruct (two_sided_ratio (IZR (b size)) (z size - x size) (z size - x' size) Bj) as [P Last].
  replace (z size - x size - (z size - x' size))%Z with (- (x size - x' size))%Z in Last by ring.
  rewrite opp_IZR, Rabs_Ropp in Last.
  match goal with |- ?p * ?q <= ?e * ?f * (?p' * ?q') =>
    apply Rle_trans with ((e * p') * (f * q')); [|right; ring] end.
  apply Rmult_le_compat; [apply Pos|left; exact P|exact IHsize|exact Last].
Qed.

Theorem shares_lose : forall size (b : nat -> Z) q v (x x' y : nat -> Z), (forall j, (0 < b j)%Z) ->
  (forall i, 0 <= q i) -> ex_series q ->
  shared_chance size b q v x y <= exp (loss size b x x') * shared_chance size b q v x' y.
Proof.
  intros size b q v x x' y B Q Sum. unfold shared_chance.
  rewrite <- Series_scal_l.
  assert (Bound : forall (w : nat -> Z) i,
    0 <= product size (fun j => two_sided (ratio (IZR (b j))) (y j - w j - v i j)) <= 1).
  { intros w i. apply product_bounds. intros j. assert (Bj : 0 < IZR (b j)) by (apply IZR_lt, B). split.
    - left. apply (two_sided_ratio (IZR (b j)) _ 0 Bj).
    - apply two_sided_at_most_one, Bj. }
  apply Series_le.
  - intros i. specialize (Q i). split; [apply Rmult_le_pos; [exact Q|apply Bound]|].
    rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc. apply Rmult_le_compat_l; [exact Q|].
    pose proof (product_ratio size b x x' (fun j => (y j - v i j)%Z) B) as R. cbv beta in R.
    assert (Same : forall w : nat -> Z, product size (fun j => two_sided (ratio (IZR (b j))) (y j - w j - v i j))
      = product size (fun j => two_sided (ratio (IZR (b j))) (y j - v i j - w j))).
    { intros w. clear. induction size; simpl; [reflexivity|]. rewrite IHsize. do 2 f_equal. ring. }
    rewrite !Same. exact R.
  - apply (ex_series_scal_l (exp (loss size b x x')) (fun i => q i * _)).
    apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ q); [|exact Sum].
    intros i. specialize (Q i). destruct (Bound x' i) as [L U].
    change (norm ?t) with (Rabs t). rewrite Rabs_right; [nra|]. apply Rle_ge, Rmult_le_pos; assumption.
Qed.

(** * Any number of shares from that number on *)

Lemma share_positive : forall s p k, 0 < s -> 0 < p < 1 -> 0 < share s p k.
Proof.
  intros s p k Big P. unfold share. apply Rmult_lt_0_compat; [apply exp_pos|].
  induction k; cbn [rising]; [lra|]. apply Rmult_lt_0_compat; [exact IHk|].
  pose proof (pos_INR k). apply Rdiv_lt_0_compat; [nra|apply lt_0_INR; lia].
Qed.

(** From one number to the next chances of a shape from 1 on fall by no more than p. *)
Lemma share_falls : forall s p k, 1 <= s -> 0 < p < 1 -> p * share s p k <= share s p (S k).
Proof.
  intros s p k Big P. pose proof (share_positive s p k ltac:(lra) P) as Q. unfold share in *. cbn [rising].
  pose proof (pos_INR k) as K. assert (N : 0 < INR (S k)) by (apply lt_0_INR; lia).
  assert (F : p <= (s + INR k) * p / INR (S k)).
  { apply Rmult_le_reg_r with (INR (S k)); [exact N|].
    replace ((s + INR k) * p / INR (S k) * INR (S k)) with ((s + INR k) * p) by (field; lra).
    rewrite S_INR. nra. }
  set (c := Rpower (1 - p) s) in *. set (x := rising s p k) in *. set (f := (s + INR k) * p / INR (S k)) in *.
  replace (c * (x * f)) with (c * x * f) by ring. rewrite (Rmult_comm p). apply Rmult_le_compat_l; lra.
Qed.

(** The chance that sums of shares of two kinds are n apart. *)
Definition apart (s p : R) (n : nat) : R := Series (fun k => share s p (k + n) * share s p k).

Lemma slow_ratio : forall s p n, is_lim_seq (fun k => (s + INR (k + n)) * p / INR (S (k + n))) p.
Proof.
  intros s p n. apply is_lim_seq_ext with (fun k => p + (s - 1) * p * / INR (k + S n)).
  { intros k. replace (k + S n)%nat with (S (k + n)) by lia. rewrite S_INR. pose proof (pos_INR (k + n)). field. lra. }
  replace (Finite p) with (Rbar_plus p (Rbar_mult ((s - 1) * p) 0)).
  2:{ simpl. f_equal. ring. }
  apply is_lim_seq_plus'; [apply is_lim_seq_const|].
  apply (is_lim_seq_scal_l (fun k => / INR (k + S n)) ((s - 1) * p) 0).
  apply (is_lim_seq_incr_n (fun k => / INR k) (S n)).
  replace (Finite 0) with (Rbar_inv p_infty) by reflexivity.
  apply is_lim_seq_inv; [apply is_lim_seq_INR|discriminate].
Qed.

Lemma apart_adds_up : forall s p n, 0 < s -> 0 < p < 1 -> ex_series (fun k => share s p (k + n) * share s p k).
Proof.
  intros s p n Big P.
  assert (Pos : forall k, 0 < share s p (k + n) * share s p k).
  { intros k. apply Rmult_lt_0_compat; apply share_positive; assumption. }
  apply ex_series_Rabs, (ex_series_DAlembert _ (p * p)); [nra| |].
  - intros k E. specialize (Pos k). lra.
  - apply is_lim_seq_ext with (fun k => (s + INR (k + n)) * p / INR (S (k + n)) * ((s + INR (k + 0)) * p / INR (S (k + 0)))).
    + intros k. rewrite Rabs_right.
      2:{ apply Rle_ge. left. apply Rdiv_lt_0_compat; apply (Pos (S k)) || apply Pos. }
      pose proof (share_positive s p (k + n) Big P) as A. pose proof (share_positive s p k Big P) as B.
      unfold share in *. change (S k + n)%nat with (S (k + n)). cbn [rising]. rewrite Nat.add_0_r.
      set (c := Rpower (1 - p) s) in *. set (x := rising s p (k + n)) in *. set (y := rising s p k) in *.
      assert (c <> 0 /\ x <> 0 /\ y <> 0) as [C [X Y]] by (repeat split; intro E; rewrite E in *; lra).
      assert (INR (S (k + n)) <> 0 /\ INR (S k) <> 0) as [I J] by (split; apply not_0_INR; lia).
      set (i := INR (S (k + n))) in *. set (j := INR (S k)) in *. field. repeat split; assumption.
    + replace (Finite (p * p)) with (Rbar_mult p p) by reflexivity.
      apply is_lim_seq_mult'; apply slow_ratio.
Qed.

Lemma apart_positive : forall s p n, 0 < s -> 0 < p < 1 -> 0 < apart s p n.
Proof.
  intros s p n Big P. unfold apart. rewrite Series_incr_1 by (apply apart_adds_up; assumption).
  assert (Pos : forall k, 0 < share s p (k + n) * share s p k).
  { intros k. apply Rmult_lt_0_compat; apply share_positive; assumption. }
  apply Rplus_lt_le_0_compat; [apply Pos|].
  replace 0 with (Series (fun _ : nat => 0 * 0)).
  - apply Series_le; [intros k; specialize (Pos (S k)); lra|].
    apply (ex_series_incr_1 (fun k => share s p (k + n) * share s p k)), apart_adds_up; assumption.
  - rewrite Series_scal_l. ring.
Qed.

Lemma apart_falls : forall s p n, 1 <= s -> 0 < p < 1 ->
  p * apart s p n <= apart s p (S n) /\ p * apart s p (S n) <= apart s p n.
Proof.
  intros s p n Big P. assert (Some : 0 < s) by lra.
  assert (Pos : forall k, 0 < share s p k) by (intros; apply share_positive; assumption).
  unfold apart. split.
  - rewrite <- Series_scal_l. apply Series_le; [|apply apart_adds_up; assumption].
    intros k. pose proof (Pos (k + n)%nat). pose proof (Pos k). pose proof (share_falls s p (k + n) Big P) as F.
    replace (k + S n)%nat with (S (k + n)) by lia.
    rewrite <- Rmult_assoc. split; [apply Rmult_le_pos; nra|apply Rmult_le_compat_r; lra].
  - rewrite (Series_incr_1 (fun k => share s p (k + n) * share s p k)) by (apply apart_adds_up; assumption).
    assert (H : p * Series (fun k => share s p (k + S n) * share s p k)
      <= Series (fun k => share s p (S k + n) * share s p (S k))).
    { rewrite <- Series_scal_l. apply Series_le.
      - intros k. pose proof (Pos (k + S n)%nat). pose proof (Pos k). pose proof (share_falls s p k Big P) as F.
        replace (S k + n)%nat with (k + S n)%nat by lia.
        rewrite <- Rmult_assoc, (Rmult_comm p), Rmult_assoc.
        split; [apply Rmult_le_pos; nra|apply Rmult_le_compat_l; lra].
      - apply (ex_series_incr_1 (fun k => share s p (k + n) * share s p k)), apart_adds_up; assumption. }
    pose proof (Rmult_lt_0_compat _ _ (Pos (0 + n)%nat) (Pos 0%nat)). lra.
Qed.

Lemma apart_far : forall s b m n, 1 <= s -> 0 < b ->
  apart s (ratio b) n <= exp (INR m / b) * apart s (ratio b) (n + m) /\
  apart s (ratio b) (n + m) <= exp (INR m / b) * apart s (ratio b) n.
Proof.
  intros s b m n Big B. pose proof (ratio_inside b B) as P.
  assert (E : exp (1 / b) * ratio b = 1).
  { unfold ratio. rewrite <- exp_plus. replace (1 / b + - (1 / b)) with 0 by ring. apply exp_0. }
  pose proof (exp_pos (1 / b)) as E0.
  induction m.
  - rewrite Nat.add_0_r. simpl INR. replace (0 / b) with 0 by (field; lra). rewrite exp_0. lra.
  - destruct IHm as [A C]. replace (n + S m)%nat with (S (n + m)) by lia.
    destruct (apart_falls s (ratio b) (n + m) Big P) as [F G].
    replace (INR (S m) / b) with (1 / b + INR m / b) by (rewrite S_INR; field; lra).
    rewrite exp_plus. pose proof (exp_pos (INR m / b)) as X.
    set (x := exp (INR m / b)) in *. set (e := exp (1 / b)) in *.
    set (near := apart s (ratio b) (n + m)) in *. set (far := apart s (ratio b) (S (n + m))) in *.
    assert (near <= e * far).
    { replace near with (e * (ratio b * near)) by (rewrite <- Rmult_assoc, E; ring). apply Rmult_le_compat_l; lra. }
    assert (far <= e * near).
    { replace far with (e * (ratio b * far)) by (rewrite <- Rmult_assoc, E; ring). apply Rmult_le_compat_l; lra. }
    split.
    + apply Rle_trans with (1 := A). replace (e * x * far) with (x * (e * far)) by ring.
      apply Rmult_le_compat_l; lra.
    + apply Rle_trans with (1 := H0). rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

(** Noise of any number of shares from the honest ones on: the difference of two negative binomial numbers of
    shape s = drawn / honest. The chance that it is d: *)
Definition shared_noise (s b : R) (d : Z) : R := difference (share s (ratio b)) (share s (ratio b)) d.

Lemma shared_noise_is_apart : forall s b d, shared_noise s b d = apart s (ratio b) (Z.abs_nat d).
Proof.
  intros s b d. unfold shared_noise, difference, apart. apply Series_ext. intros k.
  destruct (Z_le_gt_dec 0 d).
  - replace (Z.to_nat (- d)) with 0%nat by lia. replace (Z.to_nat d) with (Z.abs_nat d) by lia.
    rewrite Nat.add_0_r. reflexivity.
  - replace (Z.to_nat d) with 0%nat by lia. replace (Z.to_nat (- d)) with (Z.abs_nat d) by lia.
    rewrite Nat.add_0_r. ring.
Qed.

Theorem shared_noise_ratio : forall s b d e, 1 <= s -> 0 < b ->
  0 < shared_noise s b d <= exp (Rabs (IZR (d - e)) / b) * shared_noise s b e.
Proof.
  intros s b d e Big B. rewrite !shared_noise_is_apart. pose proof (ratio_inside b B) as P.
  split; [apply apart_positive; lra|].
  pose proof (apart_positive s (ratio b) (Z.abs_nat e) ltac:(lra) P) as Q.
  set (m := Z.abs_nat (Z.abs d - Z.abs e)).
  apply Rle_trans with (exp (INR m / b) * apart s (ratio b) (Z.abs_nat e)).
  - destruct (Z_le_gt_dec (Z.abs e) (Z.abs d)).
    + replace (Z.abs_nat d) with (Z.abs_nat e + m)%nat by (unfold m; lia). apply apart_far; assumption.
    + replace (Z.abs_nat e) with (Z.abs_nat d + m)%nat by (unfold m; lia). apply apart_far; assumption.
  - apply Rmult_le_compat_r; [lra|].
    assert (T : INR m / b <= Rabs (IZR (d - e)) / b).
    { apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, B|].
      rewrite <- abs_IZR, INR_IZR_INZ. apply IZR_le. unfold m. lia. }
    destruct T as [T|T]; [left; apply exp_increasing, T|right; now rewrite T].
Qed.

(** In any number of coordinates, whatever integers y come out: the loss of the shares of all parties together,
    as many as the guarantee is stated for, or more. *)
Theorem drawn_shares_lose : forall size honest drawn (b x x' y : nat -> Z), (0 < honest <= drawn)%nat ->
  (forall j, (0 < b j)%Z) ->
  let s := INR drawn * (1 / INR honest) in
  product size (fun j => shared_noise s (IZR (b j)) (y j - x j))
  <= exp (loss size b x x') * product size (fun j => shared_noise s (IZR (b j)) (y j - x' j)).
Proof.
  intros size honest drawn b x x' y [H D] B s.
  assert (Big : 1 <= s).
  { assert (0 < INR honest) by (apply lt_0_INR; lia). apply le_INR in D. unfold s.
    apply Rmult_le_reg_r with (INR honest); [lra|].
    replace (INR drawn * (1 / INR honest) * INR honest) with (INR drawn) by (field; lra). lra. }
  clearbody s. unfold loss. induction size; simpl; [rewrite exp_0; lra|]. rewrite exp_plus.
  assert (Pos : forall f, 0 <= product size (fun j => shared_noise s (IZR (b j)) (f j))).
  { intros f. left. apply product_positive. intros j. apply (shared_noise_ratio s (IZR (b j)) _ 0 Big). apply IZR_lt, B. }
  destruct (shared_noise_ratio s (IZR (b size)) (y size - x size) (y size - x' size) Big ltac:(apply IZR_lt, B)) as [P Last].
  replace (y size - x size - (y size - x' size))%Z with (- (x size - x' size))%Z in Last by ring.
  rewrite opp_IZR, Rabs_Ropp in Last.
  match goal with |- ?p * ?q <= ?e * ?f * (?p' * ?q') =>
    apply Rle_trans with ((e * p') * (f * q')); [|right; ring] end.
  apply Rmult_le_compat; [apply Pos|left; exact P|exact IHsize|exact Last].
Qed.

(** * Discrete Gaussian numbers by rejection *)

(** The chance of the integer x before: a size and a sign, a zero with the sign minus refused; and the chance
    with which it is taken. *)
Definition proposed (t : R) (size : nat) : R := geometric (ratio t) size / 2.
Definition taken (v t : R) (size : nat) : R := exp (- ((INR size - v / t) ^ 2 / (2 * v))).

(** An integer is proposed and taken in proportion to exp(-x^2 / 2 v). *)
Theorem gaussian_by_rejection : forall v t size, 0 < v -> 0 < t ->
  proposed t size * taken v t size
  = (1 - ratio t) / 2 * exp (- (v / (2 * t ^ 2))) * exp (- (INR size ^ 2 / (2 * v))).
Proof.
  intros v t size V T. unfold proposed, taken, geometric. rewrite ratio_power by exact T.
  replace ((1 - ratio t) * exp (- (INR size / t)) / 2 * exp (- ((INR size - v / t) ^ 2 / (2 * v))))
    with ((1 - ratio t) / 2 * (exp (- (INR size / t)) * exp (- ((INR size - v / t) ^ 2 / (2 * v))))) by field.
  rewrite Rmult_assoc, <- !exp_plus. f_equal. f_equal. field. lra.
Qed.

(** What is taken first, of proposals that are taken with a chance a in all: in proportion to the chances of
    one proposal. *)
Theorem first_taken : forall w a, 0 < a <= 1 -> is_series (fun n => (1 - a) ^ n * w) (w / a).
Proof.
  intros w a A. replace (w / a) with (/ (1 - (1 - a)) * w) by (field; lra).
  apply (is_series_scal_r w (fun n => (1 - a) ^ n)), is_series_geom. rewrite Rabs_right; lra.
Qed.
