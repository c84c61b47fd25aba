(** Privacy filters: every release, its cost too, is chosen by all that came out before, and one that
    would cost more than what is left is refused.

    For laws on finitely many outcomes, which are numbered; [ask] gives the next release for the outcomes
    so far, and a refusal is the outcome 0, which costs nothing and after which there may be more. *)

From Coq Require Import Reals List Lra Psatz.
From Proofs Require Import Laws Composition.
Import ListNotations.
Open Scope R_scope.

(** A release: what it costs, and its law for each of two neighbours. *)
Record release := Release { price : R; here : nat -> R; there : nat -> R }.

(** What is left of a budget after a request: all of it where it is refused. *)
Definition remaining (left cost : R) : R := if Rle_dec cost left then left - cost else left.

Lemma remaining_not_negative : forall left cost, 0 <= left -> 0 <= remaining left cost.
Proof. intros. unfold remaining. destruct (Rle_dec cost left); lra. Qed.

(** Whatever is asked for in which order, what was let through adds up to no more than the budget. *)
Fixpoint paid (left : R) (costs : list R) : R :=
  match costs with
  | [] => 0
  | cost :: rest => (if Rle_dec cost left then cost else 0) + paid (remaining left cost) rest
  end.

Theorem filter_never_over : forall costs left, 0 <= left -> paid left costs <= left.
Proof.
  induction costs as [|cost costs IH]; intros left L; simpl; [lra|].
  specialize (IH _ (remaining_not_negative left cost L)). unfold remaining in *.
  destruct (Rle_dec cost left); lra.
Qed.

(** * Epsilons *)

(** The chance of a path of outcomes, for the neighbour on one side. *)
Fixpoint path_chance (side : release -> nat -> R) (ask : list nat -> release) (left : R)
    (past path : list nat) : R :=
  match path with
  | [] => 1
  | o :: rest =>
    (if Rle_dec (price (ask past)) left then side (ask past) o else if Nat.eqb o 0 then 1 else 0)
    * path_chance side ask (remaining left (price (ask past))) (past ++ [o]) rest
  end.

Definition pure_release (r : release) : Prop :=
  forall o, 0 <= here r o /\ 0 <= there r o /\ here r o <= exp (price r) * there r o.

(** However many releases there are, the chance of all that comes out changes by at most exp(budget). *)
Theorem filter_is_pure : forall ask, (forall past, pure_release (ask past)) ->
  forall path left past, 0 <= left ->
  0 <= path_chance here ask left past path /\ 0 <= path_chance there ask left past path /\
  path_chance here ask left past path <= exp left * path_chance there ask left past path.
Proof.
  intros ask P. induction path as [|o path IH]; intros left past L; cbn [path_chance].
  - pose proof (exp_ineq1_le left). lra.
  - pose proof (remaining_not_negative left (price (ask past)) L) as M.
    destruct (IH _ (past ++ [o]) M) as [A [B C]]. unfold remaining in *.
    destruct (P past o) as [H [T HT]].
    destruct (Rle_dec (price (ask past)) left) as [Y|N].
    + set (a := path_chance here _ _ _ _) in *. set (b := path_chance there _ _ _ _) in *.
      split; [nra|]. split; [nra|].
      replace (exp left) with (exp (price (ask past)) * exp (left - price (ask past)))
        by (rewrite <- exp_plus; f_equal; ring).
      apply Rle_trans with ((exp (price (ask past)) * there (ask past) o)
        * (exp (left - price (ask past)) * b)); [|right; ring].
      apply Rmult_le_compat; assumption.
    + destruct (Nat.eqb o 0); lra.
Qed.

(** * Rhos *)

(** The Renyi sum over all paths of n outcomes, release by release. *)
Fixpoint path_moment (size n : nat) (alpha : R) (ask : list nat -> release) (left : R) (past : list nat) : R :=
  match n with
  | O => 1
  | S m =>
    if Rle_dec (price (ask past)) left
    then total size (fun o => Rpower (here (ask past) o) alpha * Rpower (there (ask past) o) (1 - alpha)
      * path_moment size m alpha ask (left - price (ask past)) (past ++ [o]))
    else path_moment size m alpha ask left (past ++ [O])
  end.

Theorem filter_is_concentrated : forall size alpha ask, 1 < alpha ->
  (forall past, concentrated size (price (ask past)) (here (ask past)) (there (ask past))) ->
  forall n left past, 0 <= left ->
  path_moment size n alpha ask left past <= exp ((alpha - 1) * (left * alpha)).
Proof.
  intros size alpha ask A C. induction n as [|n IH]; intros left past L; cbn [path_moment].
  - pose proof (exp_ineq1_le ((alpha - 1) * (left * alpha))).
    assert (0 <= (alpha - 1) * (left * alpha)) by (apply Rmult_le_pos; nra). lra.
  - destruct (Rle_dec (price (ask past)) left) as [Y|N]; [|now apply IH].
    set (rho := price (ask past)) in *. set (rest := exp ((alpha - 1) * ((left - rho) * alpha))).
    apply Rle_trans with (rest * renyi_sum size alpha (here (ask past)) (there (ask past))).
    + unfold renyi_sum. rewrite <- total_scales. apply total_grows. intros o _.
      rewrite (Rmult_comm rest). apply Rmult_le_compat_l.
      * apply Rmult_le_pos; left; unfold Rpower; apply exp_pos.
      * apply IH. lra.
    + replace (exp ((alpha - 1) * (left * alpha))) with (rest * exp ((alpha - 1) * (rho * alpha)))
        by (unfold rest; rewrite <- exp_plus; f_equal; ring).
      apply Rmult_le_compat_l; [left; apply exp_pos|]. exact (C past alpha A).
Qed.

(** * The filter of an (epsilon, delta) budget: which charges it lets through *)

(** By sums, within a share of delta; or by squared lengths, with a buffer. *)
Definition by_sums (share epsilon delta e d : R) : Prop := e <= epsilon /\ d <= share * delta.
Definition by_lengths (share limit delta buffer length failures : R) : Prop :=
  length + buffer <= limit /\ failures <= share * delta.

(** What has been let through: epsilons, deltas, squared lengths, failures; each charge adds to all. *)
Record sums := Sums { epsilons : R; deltas : R; lengths : R; failures : R }.

Definition sums_hold (share epsilon delta : R) (s : sums) : Prop :=
  by_sums share epsilon delta (epsilons s) (deltas s).
Definition lengths_hold (share limit delta buffer : R) (s : sums) : Prop :=
  by_lengths share limit delta buffer (lengths s) (failures s).

Inductive filtered (share epsilon delta limit buffer : R) : sums -> Prop :=
  | Opened : filtered share epsilon delta limit buffer (Sums 0 0 0 0)
  | Charged : forall s e d v f, filtered share epsilon delta limit buffer s ->
      0 <= e -> 0 <= d -> 0 <= v -> 0 <= f ->
      let next := Sums (epsilons s + e) (deltas s + d) (lengths s + v) (failures s + f) in
      sums_hold share epsilon delta next \/ lengths_hold share limit delta buffer next ->
      filtered share epsilon delta limit buffer next.

(** In every state one of the two rules holds of all that was let through together; there is no state
    that a part of the charges would have reached by one rule and the rest by the other. *)
Theorem filter_holds : forall share epsilon delta limit buffer s,
  0 <= share -> 0 <= epsilon -> 0 <= delta -> filtered share epsilon delta limit buffer s ->
  sums_hold share epsilon delta s \/ lengths_hold share limit delta buffer s.
Proof.
  intros share epsilon delta limit buffer s S E D F. destruct F; [|assumption].
  left. unfold sums_hold, by_sums. cbn. split; [lra|nra].
Qed.

(** Sums that once are over stay over: from then on lengths must hold, of everything. *)
Theorem filter_goes_one_way : forall share epsilon delta s e d v f,
  0 <= e -> 0 <= d -> ~ sums_hold share epsilon delta s ->
  ~ sums_hold share epsilon delta (Sums (epsilons s + e) (deltas s + d) (lengths s + v) (failures s + f)).
Proof.
  unfold sums_hold, by_sums. cbn. intros share epsilon delta s e d v f E D N [A B]. apply N. split; lra.
Qed.
