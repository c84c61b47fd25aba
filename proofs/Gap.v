(** What the gap of Gaussian shares adds to rho (`noise/shared.py`): a law within a factor exp(eta) of another costs
    eta^2 / 2, roots of rho add up, and coordinates add up. *)

From Coq Require Import Reals Lra Lia Psatz ZArith Arith.
From Coquelicot Require Import Coquelicot.
From Proofs Require Import FloatConstants Laws Shares Whole Lattice Theta Gaussians.
Open Scope R_scope.

(** The sum whose logarithm, over alpha - 1, is the Renyi divergence of order alpha. *)
Definition renyi (alpha : R) (p q : Z -> R) (x : Z) : R := Rpower (p x) alpha * Rpower (q x) (1 - alpha).

(** rho-concentrated for rho = r^2 / 2. *)
Definition concentrated_by (r : R) (p q : Z -> R) : Prop := forall alpha, 1 < alpha ->
  ex_series (folded (renyi alpha p q)) /\ all (renyi alpha p q) <= exp ((alpha - 1) * (r ^ 2 / 2 * alpha)).

Definition positive_law (p : Z -> R) : Prop := (forall x, 0 < p x) /\ is_series (folded p) 1.

Lemma renyi_positive : forall alpha p q x, 0 < renyi alpha p q x.
Proof. intros. apply Rmult_lt_0_compat; apply exp_pos. Qed.

Lemma dominated : forall f g, (forall x, 0 <= f x <= g x) -> ex_series (folded g) ->
  ex_series (folded f) /\ all f <= all g.
Proof.
  intros f g H E.
  assert (T : forall n, 0 <= folded f n <= folded g n).
  { intros n. split; [apply folded_not_negative; apply H|apply folded_le; apply H]. }
  split; [|apply Series_le; assumption].
  apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule) _ (folded g)); [|exact E].
  intros n. change (norm ?t) with (Rabs t). rewrite Rabs_right; [|apply Rle_ge]; apply T.
Qed.

Lemma all_mixed : forall c d f g, ex_series (folded f) -> ex_series (folded g) ->
  ex_series (folded (fun x => c * f x + d * g x)) /\ all (fun x => c * f x + d * g x) = c * all f + d * all g.
Proof.
  intros c d f g F G.
  assert (H : forall n, c * folded f n + d * folded g n = folded (fun x => c * f x + d * g x) n).
  { intros n. now rewrite folded_plus, !folded_times. }
  pose proof (ex_series_scal_l c (folded f) F) as Fc. pose proof (ex_series_scal_l d (folded g) G) as Gd.
  split.
  - apply ex_series_ext with (fun n => c * folded f n + d * folded g n); [exact H|].
    apply (ex_series_plus (V := R_NormedModule) (fun n => c * folded f n) (fun n => d * folded g n)); assumption.
  - unfold all. rewrite <- (Series_ext _ _ H), Series_plus by assumption. now rewrite !Series_scal_l.
Qed.

(** * Weighted means *)

Lemma exp_convex : forall l x y, 0 <= l <= 1 -> exp (l * x + (1 - l) * y) <= l * exp x + (1 - l) * exp y.
Proof.
  intros l x y L. set (m := l * x + (1 - l) * y).
  assert (T : forall z, exp m * (1 + (z - m)) <= exp z).
  { intros z. replace z with (m + (z - m)) at 2 by ring. rewrite exp_plus.
    apply Rmult_le_compat_l; [left; apply exp_pos|apply exp_ineq1_le]. }
  pose proof (T x) as X. pose proof (T y) as Y.
  apply Rle_trans with (l * (exp m * (1 + (x - m))) + (1 - l) * (exp m * (1 + (y - m)))).
  - right. unfold m. ring.
  - apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Lemma Rpower_positive : forall x y, 0 < Rpower x y.
Proof. intros. apply exp_pos. Qed.

(** Hoelder's inequality. *)
Lemma mixed_sum : forall l (u v f : Z -> R), 0 < l < 1 -> ex_series (folded u) -> ex_series (folded v) ->
  (forall x, 0 < u x) -> (forall x, 0 < v x) -> (forall x, 0 <= f x <= Rpower (u x) l * Rpower (v x) (1 - l)) ->
  ex_series (folded f) /\ all f <= Rpower (all u) l * Rpower (all v) (1 - l).
Proof.
  intros l u v f L Eu Ev U V F.
  assert (Pos : forall g, (forall x, 0 < g x) -> ex_series (folded g) -> 0 < all g).
  { intros g G E. apply Rlt_le_trans with (sum_n (folded g) 0); [rewrite sum_O; apply G|].
    apply partial_below; [intros k; apply folded_not_negative; intros; left; apply G|exact E]. }
  pose proof (Pos u U Eu) as Su. pose proof (Pos v V Ev) as Sv.
  set (su := all u) in *. set (sv := all v) in *. set (c := Rpower su l * Rpower sv (1 - l)).
  destruct (all_mixed (c * l / su) (c * (1 - l) / sv) u v Eu Ev) as [E A].
  destruct (dominated f (fun x => c * l / su * u x + c * (1 - l) / sv * v x)) as [Ef Lf]; [|exact E|].
  - intros x. split; [apply F|]. apply Rle_trans with (1 := proj2 (F x)). specialize (U x). specialize (V x).
    pose proof (exp_convex l (ln (u x / su)) (ln (v x / sv)) ltac:(lra)) as C.
    rewrite !exp_ln in C by (apply Rdiv_lt_0_compat; assumption).
    replace (c * l / su * u x + c * (1 - l) / sv * v x) with (c * (l * (u x / su) + (1 - l) * (v x / sv)))
      by (field; lra).
    apply Rle_trans with (c * exp (l * ln (u x / su) + (1 - l) * ln (v x / sv))).
    + right. unfold c, Rpower. rewrite <- !exp_plus. f_equal. unfold Rdiv.
      rewrite !ln_mult, !ln_Rinv by (assumption || (apply Rinv_0_lt_compat; assumption)). ring.
    + apply Rmult_le_compat_l; [|exact C]. unfold c. apply Rmult_le_pos; left; apply Rpower_positive.
  - split; [exact Ef|]. apply Rle_trans with (1 := Lf). rewrite A. fold su sv. right. unfold c. field. lra.
Qed.

(** * Roots of rho add up *)

Lemma roots_of_rho : forall a b p q r, 0 < a -> 0 < b -> (forall x, 0 < p x) -> (forall x, 0 < q x) ->
  (forall x, 0 < r x) -> concentrated_by a p q -> concentrated_by b q r -> concentrated_by (a + b) p r.
Proof.
  intros a b p q r A B P Q R0 Cpq Cqr alpha Al.
  set (tau := (alpha - 1) * b / (alpha * a)).
  assert (T : 0 < tau) by (apply Rdiv_lt_0_compat; apply Rmult_lt_0_compat; lra).
  set (l := / (1 + tau)).
  assert (L : 0 < l < 1).
  { unfold l. split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. }
  set (k := alpha * (1 + tau)). set (g := 1 + (alpha - 1) / (1 - l)).
  assert (L1 : 1 - l = tau / (1 + tau)) by (unfold l; field; lra).
  assert (K : 1 < k) by (unfold k; nra).
  assert (G : 1 < g).
  { unfold g. assert (0 < (alpha - 1) / (1 - l)) by (apply Rdiv_lt_0_compat; lra). lra. }
  destruct (Cpq k K) as [E1 S1]. destruct (Cqr g G) as [E2 S2].
  destruct (mixed_sum l (renyi k p q) (renyi g q r) (renyi alpha p r) L E1 E2) as [E S].
  - intros; apply renyi_positive.
  - intros; apply renyi_positive.
  - intros x. split; [left; apply renyi_positive|right]. unfold renyi, Rpower.
    rewrite <- !exp_plus, !ln_exp. f_equal.
    replace (1 - alpha) with ((1 - l) * (1 - g)) by (unfold g; field; lra).
    assert (Lk : l * k = alpha) by (unfold l, k; field; lra).
    assert (Lq : l * (1 - k) + (1 - l) * g = 0) by (rewrite Rmult_minus_distr_l, Lk; unfold g; field; lra).
    transitivity (l * k * ln (p x) + (l * (1 - k) + (1 - l) * g) * ln (q x) + (1 - l) * (1 - g) * ln (r x)); [|ring].
    rewrite Lk, Lq. ring.
  - split; [exact E|]. apply Rle_trans with (1 := S).
    assert (Pu : 0 < all (renyi k p q)).
    { apply Rlt_le_trans with (sum_n (folded (renyi k p q)) 0); [rewrite sum_O; apply renyi_positive|].
      apply partial_below; [intros n; apply folded_not_negative; intros; left; apply renyi_positive|exact E1]. }
    assert (Pv : 0 < all (renyi g q r)).
    { apply Rlt_le_trans with (sum_n (folded (renyi g q r)) 0); [rewrite sum_O; apply renyi_positive|].
      apply partial_below; [intros n; apply folded_not_negative; intros; left; apply renyi_positive|exact E2]. }
    apply Rle_trans with (Rpower (exp ((k - 1) * (a ^ 2 / 2 * k))) l * Rpower (exp ((g - 1) * (b ^ 2 / 2 * g))) (1 - l)).
    + apply Rmult_le_compat; try (left; apply Rpower_positive); apply Rle_Rpower_l; lra.
    + right. unfold Rpower. rewrite !ln_exp, <- exp_plus. f_equal. unfold g, k. rewrite L1. unfold l, tau. field. nra.
Qed.

(** * A law within a factor of another *)

Lemma power_convex : forall alpha x, 1 < alpha -> 0 < x -> 1 + alpha * (x - 1) <= Rpower x alpha.
Proof.
  intros alpha x A X. pose proof (exp_convex (/ alpha) (alpha * ln x) 0) as C.
  assert (L : 0 < / alpha <= 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_le_contravar; lra]).
  specialize (C ltac:(lra)). rewrite exp_0 in C.
  replace (/ alpha * (alpha * ln x) + (1 - / alpha) * 0) with (ln x) in C by (field; lra). rewrite exp_ln in C by exact X.
  unfold Rpower. apply (Rmult_le_compat_l alpha) in C; [|lra].
  replace (alpha * (/ alpha * exp (alpha * ln x) + (1 - / alpha) * 1)) with (exp (alpha * ln x) + alpha - 1) in C
    by (field; lra). lra.
Qed.

Lemma chord : forall alpha m big x, 1 < alpha -> 0 < m -> m <= x <= big ->
  (big - m) * Rpower x alpha <= (big - x) * Rpower m alpha + (x - m) * Rpower big alpha.
Proof.
  intros alpha m big x A M X.
  assert (T : forall y, 0 < y -> Rpower x alpha * (1 + alpha * (y / x - 1)) <= Rpower y alpha).
  { intros y Y. assert (Q : 0 < y / x) by (apply Rdiv_lt_0_compat; lra).
    replace (Rpower y alpha) with (Rpower x alpha * Rpower (y / x) alpha).
    - apply Rmult_le_compat_l; [left; apply Rpower_positive|apply power_convex; assumption].
    - rewrite Rpower_mult_distr by lra. f_equal. field. lra. }
  pose proof (T m M) as Tm. pose proof (T big ltac:(lra)) as Tb.
  apply Rle_trans with ((big - x) * (Rpower x alpha * (1 + alpha * (m / x - 1)))
    + (x - m) * (Rpower x alpha * (1 + alpha * (big / x - 1)))).
  - right. field. lra.
  - apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Lemma grows : forall (f df : R -> R) a b, a <= b -> (forall x, a <= x <= b -> is_derive f x (df x)) ->
  (forall x, a <= x <= b -> 0 <= df x) -> f a <= f b.
Proof.
  intros f df a b L D P. destruct (MVT_gen f a b df) as [c [C E]]; rewrite ?Rmin_left, ?Rmax_right in * by exact L.
  - intros x X. apply D. lra.
  - intros x X. apply continuity_pt_filterlim, (ex_derive_continuous f). exists (df x). apply D, X.
  - specialize (P c C). assert (0 <= df c * (b - a)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma sinh_below : forall t, 0 <= t -> sinh t <= t * cosh t.
Proof.
  intros t T. apply Rminus_le_0.
  replace 0 with (0 * cosh 0 - sinh 0) by (rewrite sinh_0; ring).
  apply (grows (fun t => t * cosh t - sinh t) (fun t => t * sinh t) 0 t T).
  - intros x _. unfold cosh, sinh. auto_derive; [trivial|field].
  - intros x [X _]. apply Rmult_le_pos; [exact X|]. unfold sinh. assert (exp (- x) <= exp x) by (apply exp_le; lra). lra.
Qed.

Lemma cosh_ratio : forall y z, 0 <= z <= y -> cosh y <= cosh z * exp ((y ^ 2 - z ^ 2) / 2).
Proof.
  intros y z Z.
  assert (D : - (cosh z * exp (- (z ^ 2 / 2))) <= - (cosh y * exp (- (y ^ 2 / 2)))).
  { apply (grows (fun t => - (cosh t * exp (- (t ^ 2 / 2)))) (fun t => (t * cosh t - sinh t) * exp (- (t ^ 2 / 2))) z y); [lra| |].
    - intros x _. unfold cosh, sinh. auto_derive; [trivial|]. unfold Rdiv.
      set (e := exp (- (x * (x * 1) * / 2))). replace (exp (- (x ^ 2 * / 2))) with e by (unfold e; f_equal; simpl; ring). field.
    - intros x X. pose proof (sinh_below x ltac:(lra)). apply Rmult_le_pos; [lra|left; apply exp_pos]. }
  replace ((y ^ 2 - z ^ 2) / 2) with (- (z ^ 2 / 2) + y ^ 2 / 2) by field. rewrite exp_plus.
  apply Rmult_le_reg_r with (exp (- (y ^ 2 / 2))); [apply exp_pos|].
  replace (cosh z * (exp (- (z ^ 2 / 2)) * exp (y ^ 2 / 2)) * exp (- (y ^ 2 / 2)))
    with (cosh z * exp (- (z ^ 2 / 2)) * (exp (y ^ 2 / 2) * exp (- (y ^ 2 / 2)))) by ring.
  rewrite <- exp_plus, Rplus_opp_r, exp_0. lra.
Qed.

Theorem close_is_concentrated : forall eta p g, 0 < eta -> positive_law p -> positive_law g -> close eta p g ->
  concentrated_by eta p g.
Proof.
  intros eta p g E [P Sp] [G Sg] C alpha A.
  set (big := exp eta). set (m := exp (- eta)).
  assert (Mm : big * m = 1) by (unfold big, m; rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (B1 : 1 < big) by (unfold big; rewrite <- exp_0; apply exp_increasing, E).
  assert (M0 : 0 < m) by apply exp_pos. assert (M1 : m < 1) by nra.
  set (rm := Rpower m alpha). set (rb := Rpower big alpha).
  assert (Eg : ex_series (folded g)) by (exists 1; exact Sg). assert (Ep : ex_series (folded p)) by (exists 1; exact Sp).
  destruct (all_mixed ((rb - rm) / (big - m)) ((big * rm - m * rb) / (big - m)) p g Ep Eg) as [Em Am].
  destruct (dominated (renyi alpha p g)
    (fun x => (rb - rm) / (big - m) * p x + (big * rm - m * rb) / (big - m) * g x)) as [Er Lr]; [|exact Em|].
  - intros x. split; [left; apply renyi_positive|]. destruct (C x) as [C1 C2]. specialize (P x). specialize (G x).
    fold big in C1, C2.
    assert (X : m <= p x / g x <= big).
    { split; apply Rmult_le_reg_r with (g x); try exact G; replace (p x / g x * g x) with (p x) by (field; lra); [|exact C1].
      apply Rmult_le_reg_l with big; [lra|]. rewrite <- Rmult_assoc, Mm, Rmult_1_l. exact C2. }
    pose proof (chord alpha m big (p x / g x) A M0 X) as H. fold rm rb in H.
    assert (R1 : renyi alpha p g x = g x * Rpower (p x / g x) alpha).
    { unfold renyi. replace (p x) with (p x / g x * g x) at 1 by (field; lra).
      rewrite <- Rpower_mult_distr by (try apply Rdiv_lt_0_compat; assumption).
      rewrite Rmult_assoc, <- Rpower_plus. replace (alpha + (1 - alpha)) with 1 by ring. rewrite Rpower_1 by exact G. ring. }
    rewrite R1. apply Rmult_le_reg_l with (big - m); [lra|].
    replace ((big - m) * (g x * Rpower (p x / g x) alpha)) with (g x * ((big - m) * Rpower (p x / g x) alpha)) by ring.
    apply Rle_trans with (g x * ((big - p x / g x) * rm + (p x / g x - m) * rb)); [apply Rmult_le_compat_l; lra|].
    right. field. lra.
  - split; [exact Er|]. apply Rle_trans with (1 := Lr). rewrite Am. unfold all.
    rewrite (is_series_unique _ _ Sp), (is_series_unique _ _ Sg).
    pose proof (cosh_ratio ((alpha - / 2) * eta) (eta / 2) ltac:(nra)) as H.
    replace ((((alpha - / 2) * eta) ^ 2 - (eta / 2) ^ 2) / 2) with ((alpha - 1) * (eta ^ 2 / 2 * alpha)) in H by field.
    set (bound := exp ((alpha - 1) * (eta ^ 2 / 2 * alpha))) in *.
    (* Everything in terms of half powers. *)
    set (h := exp (eta / 2)). assert (Hp : 0 < h) by apply exp_pos.
    assert (Hb : big = h * h) by (unfold big, h; rewrite <- exp_plus; f_equal; field).
    assert (Hm : m = / (h * h)) by (rewrite <- Hb; apply Rmult_eq_reg_l with big; [rewrite Mm; field|]; lra).
    assert (Hh : exp (- (eta / 2)) = / h) by (unfold h; apply exp_Ropp).
    set (y := exp (alpha * eta)). assert (Yp : 0 < y) by apply exp_pos.
    assert (Rb : rb = y) by (unfold rb, y, big, Rpower; rewrite ln_exp; reflexivity).
    assert (Rm : rm = / y).
    { unfold rm, y, m, Rpower. rewrite ln_exp, <- exp_Ropp. f_equal. ring. }
    assert (C1 : cosh ((alpha - / 2) * eta) = (y / h + h / y) / 2).
    { unfold cosh. f_equal. f_equal; unfold y, h, Rdiv; rewrite <- exp_Ropp, <- exp_plus; f_equal; field. }
    assert (C2 : cosh (eta / 2) = (h + / h) / 2) by (unfold cosh; rewrite Hh; reflexivity).
    rewrite C1, C2 in H. rewrite Rb, Rm, Hm, Hb.
    assert (H1 : 1 < h) by (unfold h; rewrite <- exp_0; apply exp_increasing; lra).
    assert (Hden : 0 < h * h * (h * h) - 1) by nra.
    apply Rmult_le_reg_r with ((h + / h) / 2).
    { apply Rmult_lt_0_compat; [|lra]. pose proof (Rinv_0_lt_compat h Hp). lra. }
    rewrite (Rmult_comm bound). apply Rle_trans with (2 := H). right. field. repeat split; lra || nra.
Qed.

(** * One coordinate *)

Definition moved (p : Z -> R) (m : Z) (x : Z) : R := p (Z.sub x m).

Lemma moved_law : forall p m, positive_law p -> positive_law (moved p m).
Proof.
  intros p m [P S]. split; [intros x; apply P|]. rewrite <- (is_series_unique _ _ S). apply (series_shifted p m).
  split; [intros x; left; apply P|exists 1; exact S].
Qed.

Lemma gaussian_law : forall v, 0 < v -> positive_law (discrete_gaussian v).
Proof.
  intros v V. split; [|apply gaussian_adds_up, V]. intros x. apply Rdiv_lt_0_compat; [apply exp_pos|apply bell_sum_positive, V].
Qed.

Lemma shares_law : forall a more, 1 <= a -> positive_law (gaussian_shares a more).
Proof.
  intros a more A. split; [|apply gaussian_shares_add_up; lra]. intros x.
  assert (N : 0 < INR (S more) * a) by (apply Rmult_lt_0_compat; [apply lt_0_INR; lia|lra]).
  destruct (gaussian_shares_are_close a more A x) as [_ C]. pose proof (proj1 (gaussian_law _ N) x).
  pose proof (exp_pos (gap a more)). apply Rmult_lt_reg_l with (exp (gap a more)); lra.
Qed.

Lemma close_moved : forall e p q m, close e p q -> close e (moved p m) (moved q m) /\ close e (moved q m) (moved p m).
Proof. intros e p q m C. split; intros x; destruct (C (x - m)%Z); unfold moved; split; assumption. Qed.

Lemma concentrated_more : forall r s p q, 0 <= r <= s -> concentrated_by r p q -> concentrated_by s p q.
Proof.
  intros r s p q L C alpha A. destruct (C alpha A) as [E B]. split; [exact E|]. apply Rle_trans with (1 := B).
  apply exp_le, Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; [lra|]. nra.
Qed.

(** The root of twice rho: the shift in deviations of all shares together, and the gap on both sides. *)
Theorem shares_are_concentrated : forall a more m, 1 <= a ->
  concentrated_by (Rabs (IZR m) / sqrt (INR (S more) * a) + 2 * gap a more)
    (gaussian_shares a more) (moved (gaussian_shares a more) m).
Proof.
  intros a more m A. set (v := INR (S more) * a). set (eta := gap a more). set (p := gaussian_shares a more).
  assert (V : 0 < v) by (apply Rmult_lt_0_compat; [apply lt_0_INR; lia|lra]).
  assert (Sv : 0 < sqrt v) by apply sqrt_lt_R0, V.
  set (mu := Rabs (IZR m) / sqrt v).
  assert (M0 : 0 <= mu) by (apply Rmult_le_pos; [apply Rabs_pos|left; apply Rinv_0_lt_compat, Sv]).
  assert (E0 : 0 <= eta).
  { unfold eta, gap. pose proof (pos_INR more). pose proof (exp_pos (- (flatness * a))). apply Rmult_le_pos; lra. }
  assert (P : positive_law p) by apply shares_law, A.
  assert (G : forall w, 0 < w -> concentrated_by (Rabs (IZR m) / sqrt w) (discrete_gaussian w) (moved (discrete_gaussian w) m)).
  { intros w W alpha Al. destruct (gaussian_is_concentrated w m alpha W Al) as [E B]. split; [exact E|].
    apply Rle_trans with (1 := B). pose proof (sqrt_lt_R0 w W) as Sw.
    replace ((Rabs (IZR m) / sqrt w) ^ 2) with (Rabs (IZR m) ^ 2 / sqrt w ^ 2) by (field; lra).
    rewrite pow2_sqrt by lra. rewrite pow2_abs. right. f_equal. field. lra. }
  destruct (Z.eq_dec m 0) as [->|Nz].
  - (* Nothing moves. *)
    intros alpha Al. assert (Same : forall n, folded p n = folded (renyi alpha p (moved p 0)) n).
    { assert (H : forall x, renyi alpha p (moved p 0) x = p x).
      { intros x. unfold renyi, moved. rewrite Z.sub_0_r, <- Rpower_plus.
        replace (alpha + (1 - alpha)) with 1 by ring. apply Rpower_1, P. }
      intros [|n]; cbn [folded]; now rewrite !H. }
    split; [apply ex_series_ext with (1 := Same); exists 1; apply P|]. unfold all.
    rewrite <- (Series_ext _ _ Same), (is_series_unique _ _ (proj2 P)).
    apply Rle_trans with (exp 0); [rewrite exp_0; lra|apply exp_le].
    apply Rmult_le_pos; [lra|]. apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [apply pow2_ge_0|lra].
  - assert (Mp : 0 < mu).
    { apply Rdiv_lt_0_compat; [apply Rabs_pos_lt, not_0_IZR, Nz|exact Sv]. }
    destruct more as [|more].
    + (* One share has no gap. *)
      apply concentrated_more with mu; [lra|]. unfold mu, v, p. cbn [gaussian_shares]. simpl INR. rewrite Rmult_1_l.
      apply G. lra.
    + assert (Ep : 0 < eta).
      { unfold eta, gap. apply Rmult_lt_0_compat; [|apply exp_pos]. apply Rmult_lt_0_compat; [lra|apply lt_0_INR; lia]. }
      pose proof (gaussian_law v V) as Gv. pose proof (gaussian_shares_are_close a (S more) A) as C. fold v eta p in C.
      replace (mu + 2 * eta) with (eta + mu + eta) by ring.
      apply roots_of_rho with (q := moved (discrete_gaussian v) m); try lra;
        try (intros; first [apply P|apply (proj1 (moved_law _ m Gv))|apply (proj1 (moved_law _ m P))]).
      * apply roots_of_rho with (q := discrete_gaussian v); try lra;
          try (intros; first [apply P|apply Gv|apply (proj1 (moved_law _ m Gv))]).
        -- apply close_is_concentrated; assumption.
        -- apply G, V.
      * apply close_is_concentrated; [exact Ep|apply moved_law, Gv|apply moved_law, P|].
        apply (close_moved eta p (discrete_gaussian v) m C).
Qed.

(** * Any number of coordinates, with independent noise *)

Definition put (n : nat) (z : Z) (x : nat -> Z) (j : nat) : Z := if Nat.eqb j n then z else x j.

(** The sum over all integers in each of so many coordinates. *)
Fixpoint everywhere (size : nat) (F : (nat -> Z) -> R) (x : nat -> Z) : R :=
  match size with O => F x | S rest => everywhere rest (fun y => all (fun z => F (put rest z y))) x end.

Lemma everywhere_ext : forall size F G x, (forall y, F y = G y) -> everywhere size F x = everywhere size G x.
Proof.
  induction size; intros F G x H; cbn [everywhere]; [apply H|]. apply IHsize. intros y. apply Series_ext.
  intros [|n]; cbn [folded]; now rewrite !H.
Qed.

Lemma product_ext : forall size f g, (forall j, (j < size)%nat -> f j = g j) -> product size f = product size g.
Proof. induction size; intros f g H; cbn [product]; [reflexivity|]. rewrite (IHsize f g), H; auto. Qed.

Lemma everywhere_product : forall size c f x,
  everywhere size (fun y => c * product size (fun j => f j (y j))) x = c * product size (fun j => all (f j)).
Proof.
  induction size; intros c f x; [reflexivity|]. cbn [everywhere product].
  rewrite (everywhere_ext size _ (fun y => (c * all (f size)) * product size (fun j => f j (y j)))).
  - rewrite IHsize. ring.
  - intros y. transitivity (all (fun z => (c * product size (fun j => f j (y j))) * f size z)).
    + apply Series_ext. assert (H : forall z, c * (product size (fun j => f j (put size z y j)) * f size (put size z y size))
        = c * product size (fun j => f j (y j)) * f size z).
      { intros z. unfold put at 2. rewrite Nat.eqb_refl. rewrite (product_ext size _ (fun j => f j (y j))); [ring|].
        intros j J. unfold put. replace (Nat.eqb j size) with false by (symmetry; apply Nat.eqb_neq; lia). reflexivity. }
      intros [|n]; cbn [folded]; now rewrite !H.
    + unfold all at 1. rewrite (Series_ext _ (fun n => c * product size (fun j => f j (y j)) * folded (f size) n))
        by (intros n; now rewrite <- folded_times). rewrite Series_scal_l. unfold all. ring.
Qed.

Lemma product_renyi : forall size alpha (p q : nat -> R), (forall j, 0 < p j) -> (forall j, 0 < q j) ->
  Rpower (product size p) alpha * Rpower (product size q) (1 - alpha)
  = product size (fun j => Rpower (p j) alpha * Rpower (q j) (1 - alpha)).
Proof.
  intros size alpha p q P Q. induction size; cbn [product].
  - unfold Rpower. rewrite ln_1, !Rmult_0_r, exp_0. ring.
  - rewrite <- !Rpower_mult_distr by (try apply product_positive; auto). rewrite <- IHsize. ring.
Qed.

Lemma lengths_add : forall size (u : nat -> R) e mu, 0 <= e -> 0 <= mu -> total size (fun j => u j ^ 2) <= mu ^ 2 ->
  total size (fun j => (u j + e) ^ 2) <= (mu + e * sqrt (INR size)) ^ 2.
Proof.
  intros size u e mu E M H.
  assert (T : total size (fun j => (u j + e) ^ 2)
    = total size (fun j => u j ^ 2) + 2 * e * total size u + INR size * e ^ 2).
  { clear. induction size; [simpl; ring|]. rewrite S_INR. cbn [total]. rewrite IHsize. ring. }
  assert (Q : total size u ^ 2 <= INR size * total size (fun j => u j ^ 2)).
  { clear. induction size; [simpl; lra|]. rewrite S_INR. cbn [total].
    set (n := INR size) in *. set (t := total size u) in *. set (s := total size (fun j => u j ^ 2)) in *. set (y := u size).
    assert (N : 0 <= n) by apply pos_INR.
    assert (2 * t * y <= n * y ^ 2 + s); [|nra].
    destruct (Req_dec n 0) as [Z|Z].
    - assert (S0 : 0 <= s) by (unfold s; clear; induction size; simpl; [lra|]; pose proof (pow2_ge_0 (u size)); simpl in *; lra).
      assert (t = 0) by nra. subst t. nra.
    - apply Rmult_le_reg_l with n; [lra|]. pose proof (pow2_ge_0 (n * y - t)). nra. }
  set (t := total size u) in *. set (s := total size (fun j => u j ^ 2)) in *. set (k := sqrt (INR size)) in *.
  assert (K : k ^ 2 = INR size) by (apply pow2_sqrt, pos_INR). assert (K0 : 0 <= k) by apply sqrt_pos.
  assert (B : t <= k * mu).
  { apply Rsqr_incr_0_var; [|apply Rmult_le_pos; assumption]. unfold Rsqr.
    replace (k * mu * (k * mu)) with (k ^ 2 * mu ^ 2) by ring. rewrite K. pose proof (pos_INR size).
    apply Rle_trans with (INR size * s); [simpl in Q; lra|]. apply Rmult_le_compat_l; assumption. }
  rewrite T, <- K. assert (e * t <= e * (k * mu)) by (apply Rmult_le_compat_l; assumption). nra.
Qed.

(** What `SharedGaussianNoise.achieved` states: mu the length of the difference in deviations of all shares together,
    eta at least the gap in each coordinate, rho = (mu + 2 eta K^(1/2))^2 / 2. *)
Theorem shared_gaussians_lose : forall size (a : nat -> R) more (m : nat -> Z) mu eta alpha x, 1 < alpha ->
  (forall j, 1 <= a j) -> 0 <= mu -> (forall j, gap (a j) more <= eta) -> 0 <= eta ->
  total size (fun j => (Rabs (IZR (m j)) / sqrt (INR (S more) * a j)) ^ 2) <= mu ^ 2 ->
  everywhere size (fun y => Rpower (product size (fun j => gaussian_shares (a j) more (y j))) alpha
    * Rpower (product size (fun j => gaussian_shares (a j) more (y j - m j))) (1 - alpha)) x
  <= exp ((alpha - 1) * ((mu + 2 * eta * sqrt (INR size)) ^ 2 / 2 * alpha)).
Proof.
  intros size a more m mu eta alpha x Al A M Gp E H.
  set (p := fun j => gaussian_shares (a j) more). set (u := fun j => Rabs (IZR (m j)) / sqrt (INR (S more) * a j)).
  assert (P : forall j y, 0 < p j y) by (intros j y; apply shares_law, A).
  rewrite (everywhere_ext size _ (fun y => 1 * product size (fun j => renyi alpha (p j) (moved (p j) (m j)) (y j)))).
  2:{ intros y. rewrite Rmult_1_l. apply product_renyi; intros j; apply P. }
  rewrite (everywhere_product size 1 (fun j => renyi alpha (p j) (moved (p j) (m j))) x), Rmult_1_l.
  pose proof (lengths_add size u (2 * eta) mu ltac:(lra) M H) as L.
  set (c := (alpha - 1) * alpha / 2). assert (C : 0 <= c) by (unfold c; nra).
  apply Rle_trans with (exp (c * total size (fun j => (u j + 2 * eta) ^ 2))).
  - clear L H. induction size; cbn [product total]; [rewrite Rmult_0_r, exp_0; lra|].
    rewrite Rmult_plus_distr_l, exp_plus.
    assert (U : 0 <= u size).
    { unfold u. apply Rmult_le_pos; [apply Rabs_pos|]. left. apply Rinv_0_lt_compat, sqrt_lt_R0, Rmult_lt_0_compat;
        [apply lt_0_INR; lia|specialize (A size); lra]. }
    assert (G0 : 0 <= gap (a size) more).
    { unfold gap. pose proof (pos_INR more). pose proof (exp_pos (- (flatness * a size))). apply Rmult_le_pos; lra. }
    assert (Con : concentrated_by (u size + 2 * eta) (p size) (moved (p size) (m size))).
    { apply concentrated_more with (u size + 2 * gap (a size) more); [specialize (Gp size); lra|].
      apply shares_are_concentrated, A. }
    destruct (Con alpha Al) as [Ex B]. apply Rmult_le_compat; [| |exact IHsize|].
    + clear - P A Al. induction size; cbn [product]; [lra|]. apply Rmult_le_pos; [exact IHsize|].
      destruct (shares_are_concentrated (a size) more (m size) (A size) alpha Al) as [Ex _].
      apply Rle_trans with (sum_n (folded (renyi alpha (p size) (moved (p size) (m size)))) 0).
      * rewrite sum_O. left. apply renyi_positive.
      * apply partial_below; [intros k; apply folded_not_negative; intros; left; apply renyi_positive|exact Ex].
    + apply Rle_trans with (sum_n (folded (renyi alpha (p size) (moved (p size) (m size)))) 0).
      * rewrite sum_O. left. apply renyi_positive.
      * apply partial_below; [intros k; apply folded_not_negative; intros; left; apply renyi_positive|exact Ex].
    + apply Rle_trans with (1 := B). right. f_equal. unfold c. field.
  - apply exp_le. apply Rle_trans with (c * (mu + 2 * eta * sqrt (INR size)) ^ 2); [apply Rmult_le_compat_l; assumption|].
    right. unfold c. field.
Qed.
