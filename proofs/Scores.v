(** Scores of quantiles: how far one unit moves them (`density/quantiles_design.py`). *)

From Coq Require Import ZArith Lia Psatz.
From Proofs Require Import Sums Constants.
Open Scope Z_scope.

(** Between places lie gaps. Of all shares, [whole], a gap should hold level_i / level_steps, and it holds
    [shares i]; the score is how far all gaps together are off, with a minus. *)
Definition score (gaps : nat) (levels shares : vector) (whole : Z) : Z :=
  - sum gaps (fun i => Z.abs (level_steps * shares i - levels i * whole)).

(** The length of the interval in which one unit moves all scores. *)
Definition quantile_range (replaced : bool) (least : Z) : Z :=
  4 * 2 ^ share_bits * (if replaced then level_steps else level_steps - least).

Lemma scores_apart : forall gaps levels s t whole whole',
  Z.abs (score gaps levels s whole - score gaps levels t whole')
  <= sum gaps (fun i => Z.abs (level_steps * (s i - t i) - levels i * (whole - whole'))).
Proof.
  intros. unfold score. induction gaps; cbn [sum]; [lia|].
  assert (Z.abs (level_steps * s gaps - levels gaps * whole) - Z.abs (level_steps * t gaps - levels gaps * whole')
    <= Z.abs (level_steps * (s gaps - t gaps) - levels gaps * (whole - whole')) /\
    Z.abs (level_steps * t gaps - levels gaps * whole') - Z.abs (level_steps * s gaps - levels gaps * whole)
    <= Z.abs (level_steps * (s gaps - t gaps) - levels gaps * (whole - whole'))).
  { replace (level_steps * (s gaps - t gaps) - levels gaps * (whole - whole')) with
      ((level_steps * s gaps - levels gaps * whole) - (level_steps * t gaps - levels gaps * whole')) by ring.
    lia. }
  lia.
Qed.

(** A unit is replaced: its shares u become v, the whole is public and stays. *)
Theorem score_replaced : forall gaps levels rest u v whole,
  (forall i, (i < gaps)%nat -> 0 <= u i) -> (forall i, (i < gaps)%nat -> 0 <= v i) ->
  sum gaps u <= 2 ^ share_bits -> sum gaps v <= 2 ^ share_bits ->
  2 * Z.abs (score gaps levels (fun i => rest i + u i) whole - score gaps levels (fun i => rest i + v i) whole)
  <= quantile_range true 0.
Proof.
  intros gaps levels rest u v whole U V Su Sv.
  pose proof (scores_apart gaps levels (fun i => rest i + u i) (fun i => rest i + v i) whole whole) as A.
  apply Z.le_trans with (2 * sum gaps (fun i => level_steps * (u i + v i))).
  - apply Z.mul_le_mono_nonneg_l; [lia|]. apply Z.le_trans with (1 := A). apply sum_le.
    intros i L. specialize (U i L). specialize (V i L). unfold level_steps. cbn beta. lia.
  - rewrite sum_times, sum_plus. unfold quantile_range, share_bits, level_steps in *.
    change (2 ^ 20) with 1048576 in *. lia.
Qed.

(** A unit is added or removed, and with it what it holds of the whole. *)
Theorem score_added : forall gaps levels rest u whole least,
  (forall i, (i < gaps)%nat -> 0 <= u i) -> sum gaps u <= 2 ^ share_bits ->
  (forall i, (i < gaps)%nat -> least <= levels i) -> 0 <= least <= level_steps -> sum gaps levels = level_steps ->
  2 * Z.abs (score gaps levels (fun i => rest i + u i) (whole + sum gaps u) - score gaps levels rest whole)
  <= quantile_range false least.
Proof.
  intros gaps levels rest u whole least U Su Least N Levels.
  set (S := sum gaps u) in *.
  pose proof (scores_apart gaps levels (fun i => rest i + u i) rest (whole + S) whole) as A.
  assert (Pos : sum gaps (fun i => Z.max 0 (level_steps * u i - levels i * S)) <= (level_steps - least) * S).
  { unfold S at 2. rewrite <- sum_times. apply sum_le. intros i L.
    pose proof (sum_one_le gaps u i U L) as One. fold S in One.
    specialize (U i L). specialize (Least i L). nia. }
  (* What is above in some gaps is below in others. *)
  assert (Twice : sum gaps (fun i => Z.abs (level_steps * u i - levels i * S))
    = 2 * sum gaps (fun i => Z.max 0 (level_steps * u i - levels i * S))).
  { assert (Balance : sum gaps (fun i => level_steps * u i - levels i * S) = 0).
    { rewrite sum_minus, sum_times. fold S.
      rewrite (sum_ext gaps (fun j => levels j * S) (fun j => S * levels j)) by (intros; lia).
      rewrite sum_times, Levels. lia. }
    rewrite (sum_ext gaps (fun i => Z.abs (level_steps * u i - levels i * S))
      (fun i => 2 * Z.max 0 (level_steps * u i - levels i * S) - (level_steps * u i - levels i * S)))
      by (intros; lia).
    rewrite sum_minus, sum_times, Balance. lia. }
  rewrite (sum_ext gaps _ (fun i => Z.abs (level_steps * u i - levels i * S))) in A
    by (intros; f_equal; ring).
  assert (Ss : 0 <= S) by (apply sum_not_negative; auto).
  unfold quantile_range, share_bits in *. change (2 ^ 20) with 1048576 in *. nia.
Qed.
