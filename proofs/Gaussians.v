(** Discrete Gaussian shares (`noise/shared.py`): how far their sums are from one discrete Gaussian number, what such a
    number loses, and what both together lose. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Coquelicot Require Import Coquelicot.
From Proofs Require Import FloatConstants Laws Shares Whole Lattice Theta.
Open Scope R_scope.

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

(** The gap of all shares in a coordinate, as the program states it: 5 (h - 1) exp(-FLATNESS s^2 / m). *)
Definition gap (a : R) (more : nat) : R := 5 * INR more * exp (- (flatness * a)).

Theorem gaussian_shares_are_close : forall a more, 1 <= a ->
  close (gap a more) (gaussian_shares a more) (discrete_gaussian (INR (S more) * a)).
Proof.
  intros a more A. induction more.
  - replace (gap a 0) with 0 by (unfold gap; simpl; ring). simpl INR. rewrite Rmult_1_l. apply close_self.
  - assert (N : 1 <= INR (S more)) by (rewrite S_INR; pose proof (pos_INR more); lra).
    assert (Pos : 0 < INR (S more) * a) by nra.
    replace (gap a (S more)) with (gap a more + 5 * exp (- (flatness * a))) by (unfold gap; rewrite (S_INR more); ring).
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
      apply exp_le. assert (0 < flatness) by (unfold flatness; lra). nra.
    + apply two_gaussians; [exact Pos|lra|fold v; lra].
Qed.

(** * What a discrete Gaussian number loses *)

(** The Renyi divergence of every order alpha from the number that is shifted by an integer m is at most rho alpha, for
    rho = m^2 / 2 v: a number of variance v is rho-concentrated. *)
Theorem gaussian_is_concentrated : forall v m alpha, 0 < v -> 1 < alpha ->
  let f := fun x => Rpower (discrete_gaussian v x) alpha * Rpower (discrete_gaussian v (x - m)) (1 - alpha) in
  ex_series (folded f) /\ Series (folded f) <= exp ((alpha - 1) * (IZR m ^ 2 / (2 * v) * alpha)).
Proof.
  intros v m alpha V A f. pose proof (bell_sum_positive v V) as Z. set (z := Series (folded (bell v))) in *.
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
  assert (Same' : forall n, c / z * folded (near v ((1 - alpha) * IZR m)) n = folded f n).
  { intros n. rewrite <- folded_times. unfold f. destruct n; cbn [folded]; rewrite !E; reflexivity. }
  split.
  { apply ex_series_ext with (1 := Same'). apply (ex_series_scal_l (c / z) (folded (near v ((1 - alpha) * IZR m)))).
    apply near_exists, V. }
  rewrite <- (Series_ext _ _ Same'), Series_scal_l. change (Series (folded _)) with (around v ((1 - alpha) * IZR m)).
  assert (Same : around v 0 = z).
  { unfold around, z. apply Series_ext. intros n. unfold bell. destruct n; cbn [folded]; rewrite ?Rminus_0_r; reflexivity. }
  pose proof (around_is_largest v ((1 - alpha) * IZR m) V) as M. rewrite Same in M.
  apply Rle_trans with (c / z * z); [|right; field; lra].
  apply Rmult_le_compat_l; [|exact M]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat, Z].
Qed.

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
