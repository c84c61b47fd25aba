(** What several releases cost together, for laws on finitely many outcomes.

    Outcomes are numbered 0, .., count - 1; what is true of every finite partition of the outcomes of a
    mechanism is true of it (van Erven & Harremoes 2014, Theorem 10). The second release may be chosen by
    what the first gave: its laws depend on the first outcome. *)

From Coq Require Import Reals Lra Psatz.
From Proofs Require Import Laws.
Open Scope R_scope.

Definition law (count : nat) (p : nat -> R) : Prop := (forall a, 0 <= p a) /\ total count p = 1.

(** * Pure privacy *)

Definition pure (count : nat) (epsilon : R) (p p' : nat -> R) : Prop :=
  forall a, (a < count)%nat -> p a <= exp epsilon * p' a.

(** Every event, a set of outcomes, is as close as every outcome. *)
Theorem pure_events : forall count epsilon p p' (event : nat -> bool), pure count epsilon p p' ->
  total count (fun a => if event a then p a else 0)
  <= exp epsilon * total count (fun a => if event a then p' a else 0).
Proof.
  intros count epsilon p p' event P. rewrite <- total_scales. apply total_grows. intros a L.
  destruct (event a); [apply P, L|lra].
Qed.

(** Epsilons add up, also where the second release is chosen by the first. *)
Theorem pure_composition : forall n m e f p p' q q', law n p ->
  (forall a b, 0 <= q a b) -> pure n e p p' -> (forall a, pure m f (q a) (q' a)) ->
  forall a b, (a < n)%nat -> (b < m)%nat -> p a * q a b <= exp (e + f) * (p' a * q' a b).
Proof.
  intros n m e f p p' q q' [Np _] Nq P Q a b A B. rewrite exp_plus.
  apply Rle_trans with ((exp e * p' a) * (exp f * q' a b)); [|right; ring].
  apply Rmult_le_compat; auto. apply Q, B.
Qed.

(** * Privacy with a delta *)

Definition excess (epsilon x x' : R) : R := Rmax 0 (x - exp epsilon * x').

(** P(A) <= exp(epsilon) P'(A) + delta for every event A: by the event of largest difference. *)
Definition approximate (count : nat) (epsilon delta : R) (p p' : nat -> R) : Prop :=
  total count (fun a => excess epsilon (p a) (p' a)) <= delta.

Theorem approximate_events : forall count epsilon delta p p' (event : nat -> bool),
  approximate count epsilon delta p p' ->
  total count (fun a => if event a then p a else 0)
  <= exp epsilon * total count (fun a => if event a then p' a else 0) + delta.
Proof.
  intros count epsilon delta p p' event D. unfold approximate in D.
  apply Rle_trans with (total count (fun a => exp epsilon * (if event a then p' a else 0)
    + excess epsilon (p a) (p' a))).
  - apply total_grows. intros a _. unfold excess.
    pose proof (Rmax_l 0 (p a - exp epsilon * p' a)). pose proof (Rmax_r 0 (p a - exp epsilon * p' a)).
    destruct (event a); lra.
  - assert (Plus : forall f g, total count (fun a => f a + g a) = total count f + total count g).
    { clear. intros. induction count; simpl; [|rewrite IHcount]; ring. }
    rewrite Plus, total_scales. lra.
Qed.

(** Epsilons and deltas add up, also where the second release is chosen by the first. *)
Theorem basic_composition : forall n m e f d d' p p' q q', law n p -> law n p' ->
  (forall a, law m (q a)) -> (forall a, law m (q' a)) -> 0 <= d' ->
  approximate n e d p p' -> (forall a, approximate m f d' (q a) (q' a)) ->
  total n (fun a => total m (fun b => excess (e + f) (p a * q a b) (p' a * q' a b))) <= d + d'.
Proof.
  intros n m e f d d' p p' q q' [Np P1] [Np' _] Lq Lq' D' Dp Dq. unfold approximate in *.
  apply Rle_trans with (total n (fun a => excess e (p a) (p' a) + p a * d')).
  - apply total_grows. intros a _. set (x := excess e (p a) (p' a)).
    apply Rle_trans with (total m (fun b => x * q a b + p a * excess f (q a b) (q' a b))).
    + apply total_grows. intros b _. unfold excess at 1. destruct (Lq a) as [Nq _], (Lq' a) as [Nq' _].
      specialize (Nq b). specialize (Nq' b). specialize (Np a). specialize (Np' a).
      assert (X0 : 0 <= x) by apply Rmax_l.
      assert (X1 : p a <= x + exp e * p' a).
      { pose proof (Rmax_r 0 (p a - exp e * p' a)). unfold x, excess. lra. }
      assert (Y0 : 0 <= excess f (q a b) (q' a b)) by apply Rmax_l.
      assert (Y1 : q a b - exp f * q' a b <= excess f (q a b) (q' a b)) by apply Rmax_r.
      assert (0 <= p a * excess f (q a b) (q' a b)) by nra.
      apply Rmax_lub; [nra|]. rewrite exp_plus.
      pose proof (exp_pos e). pose proof (exp_pos f).
      (* The smaller of p a and exp e * p' a is what is left of p a without its excess. *)
      assert (Min : p a - x <= exp e * p' a) by lra.
      assert (0 <= p a - x).
      { unfold x, excess, Rmax. destruct (Rle_dec 0 (p a - exp e * p' a)); nra. }
      assert ((p a - x) * (exp f * q' a b) <= exp e * p' a * (exp f * q' a b)).
      { apply Rmult_le_compat_r; [nra|exact Min]. }
      assert ((p a - x) * (q a b - exp f * q' a b) <= p a * excess f (q a b) (q' a b)).
      { apply Rle_trans with ((p a - x) * excess f (q a b) (q' a b)); [apply Rmult_le_compat_l; lra|].
        apply Rmult_le_compat_r; lra. }
      nra.
    + assert (Plus : forall g h, total m (fun b => g b + h b) = total m g + total m h).
      { clear. intros. induction m; simpl; [|rewrite IHm]; ring. }
      rewrite Plus, !total_scales. destruct (Lq a) as [_ Q1]. rewrite Q1.
      specialize (Dq a). specialize (Np a). nra.
  - assert (Plus : forall g h, total n (fun b => g b + h b) = total n g + total n h).
    { clear. intros. induction n; simpl; [|rewrite IHn]; ring. }
    rewrite Plus.
    assert (Scale : total n (fun a => p a * d') = d' * total n p).
    { rewrite <- total_scales. clear. induction n; simpl; [|rewrite IHn]; ring. }
    rewrite Scale, P1. lra.
Qed.

(** * Neighbours of one kind from those of the other *)

(** A unit is replaced where one is removed and another added: 2 epsilon, (1 + exp(epsilon)) delta. *)
Theorem replace_from_add : forall count e d p m p',
  approximate count e d p m -> approximate count e d m p' ->
  approximate count (e + e) ((1 + exp e) * d) p p'.
Proof.
  intros count e d p m p' A B. unfold approximate in *.
  apply Rle_trans with (total count (fun a => excess e (p a) (m a) + exp e * excess e (m a) (p' a))).
  - apply total_grows. intros a _. unfold excess at 1. pose proof (exp_pos e).
    pose proof (Rmax_l 0 (p a - exp e * m a)). pose proof (Rmax_r 0 (p a - exp e * m a)).
    pose proof (Rmax_l 0 (m a - exp e * p' a)). pose proof (Rmax_r 0 (m a - exp e * p' a)).
    unfold excess. apply Rmax_lub; [nra|]. rewrite exp_plus. nra.
  - assert (Plus : forall g h, total count (fun b => g b + h b) = total count g + total count h).
    { clear. intros. induction count; simpl; [|rewrite IHcount]; ring. }
    rewrite Plus, total_scales. pose proof (exp_pos e). nra.
Qed.

(** * Zero-concentrated privacy *)

(** The sum whose logarithm, over alpha - 1, is the Renyi divergence of order alpha. *)
Definition renyi_sum (count : nat) (alpha : R) (p p' : nat -> R) : R :=
  total count (fun a => Rpower (p a) alpha * Rpower (p' a) (1 - alpha)).

Definition concentrated (count : nat) (rho : R) (p p' : nat -> R) : Prop :=
  forall alpha, 1 < alpha -> renyi_sum count alpha p p' <= exp ((alpha - 1) * (rho * alpha)).

(** Rhos add up, also where the second release is chosen by the first. *)
Theorem concentrated_composition : forall n m rho sigma p p' q q',
  (forall a, 0 < p a) -> (forall a, 0 < p' a) -> (forall a b, 0 < q a b) -> (forall a b, 0 < q' a b) ->
  concentrated n rho p p' -> (forall a, concentrated m sigma (q a) (q' a)) ->
  forall alpha, 1 < alpha ->
  total n (fun a => total m (fun b =>
    Rpower (p a * q a b) alpha * Rpower (p' a * q' a b) (1 - alpha)))
  <= exp ((alpha - 1) * ((rho + sigma) * alpha)).
Proof.
  intros n m rho sigma p p' q q' P P' Q Q' Cp Cq alpha A.
  specialize (Cp alpha A). unfold renyi_sum in Cp.
  replace ((alpha - 1) * ((rho + sigma) * alpha))
    with ((alpha - 1) * (rho * alpha) + (alpha - 1) * (sigma * alpha)) by ring.
  rewrite exp_plus.
  apply Rle_trans with (exp ((alpha - 1) * (sigma * alpha))
    * total n (fun a => Rpower (p a) alpha * Rpower (p' a) (1 - alpha))).
  - rewrite <- total_scales. apply total_grows. intros a _.
    specialize (Cq a alpha A). unfold renyi_sum in Cq.
    apply Rle_trans with (Rpower (p a) alpha * Rpower (p' a) (1 - alpha)
      * total m (fun b => Rpower (q a b) alpha * Rpower (q' a b) (1 - alpha))).
    + rewrite <- total_scales. apply total_grows. intros b _.
      right. rewrite <- (Rpower_mult_distr (p a) (q a b)), <- (Rpower_mult_distr (p' a) (q' a b)) by auto. ring.
    + rewrite (Rmult_comm (exp _)). apply Rmult_le_compat_l; [|exact Cq].
      apply Rmult_le_pos; left; unfold Rpower; apply exp_pos.
  - rewrite Rmult_comm. apply Rmult_le_compat_r; [left; apply exp_pos|exact Cp].
Qed.
