//! The figures as a table for people.

use std::fmt;

use super::{Budgets, Federation, Figures, Memory, Reaction, Roll, Round, SideBySide, Spread, Writes};

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.machine.load;
        writeln!(f, "{} cores, load {before:.1} before and {after:.1} after", self.machine.cores)?;
        if !self.rounds.is_empty() {
            self.rounds(f)?;
        }
        self.reaction.iter().try_for_each(|reaction| reaction.lines(f))?;
        self.memory.iter().try_for_each(|memory| memory.lines(f))?;
        self.budgets.iter().try_for_each(|budgets| budgets.lines(f))?;
        self.federation.iter().try_for_each(|federation| federation.lines(f))?;
        self.side_by_side.iter().try_for_each(|all| all.lines(f))
    }
}

impl Figures {
    fn rounds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = format!("{} PODS", self.pods);
        writeln!(f, "\n{title:<34}{:>11}{:>11}{:>9}", "OPERATOR", "FLOOR", "RATIO")?;
        self.rounds.iter().try_for_each(|round| round.lines(f))?;
        writeln!(f, "\nWRITES PER REPLACED POD")?;
        for Round { writes, .. } in &self.rounds {
            write!(f, "{:<34}{:>11.3}", "by the operator", writes.per_pod(self.pods))?;
            write!(f, "   {} creates, {} deletes", writes.creates, writes.deletes)?;
            writeln!(f, ", {} others; {} events, {} refused", writes.beside, writes.events, writes.refused)?;
        }
        Ok(())
    }
}

impl Reaction {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = "MILLISECONDS TO ACT";
        writeln!(f, "\n{title:<34}{:>11}{:>11}{:>11}{:>9}", "P50", "P99", "LONGEST", "N")?;
        spread(f, "ready to delete, operator", &self.ready)?;
        spread(f, "ready to delete, floor", &self.floor_ready)?;
        spread(f, "gone to create, operator", &self.gone)?;
        spread(f, "gone to create, floor", &self.floor_gone)
    }
}

impl Memory {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = "MiB RESIDENT";
        writeln!(f, "\n{title:<34}{:>11}{:>11}{:>11}{:>12}", "IDLE", "1,000", "5,000", "PER 1,000")?;
        let (idle, few, many) = (mib(self.idle), mib(self.few), mib(self.many));
        write!(f, "{:<34}{idle:>11.1}{few:>11.1}{many:>11.1}", "operator")?;
        writeln!(f, "{:>12.2}", self.per_thousand() / 1024.0)
    }
}

impl Budgets {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = "MILLISECONDS TO ANSWER A REMOVAL";
        writeln!(f, "\n{title:<34}{:>11}{:>11}{:>11}{:>9}{:>9}", "P50", "P99", "LONGEST", "N", "RATIO")?;
        let floor = self.swap.p50.max(f64::EPSILON);
        for (what, times) in [
            ("bare compare-and-swap", &self.swap),
            ("the same, watched by one client", &self.watched_swap),
            ("delete", &self.delete),
            ("eviction", &self.evict),
            ("delete of a pod without a budget", &self.uncovered),
        ] {
            let Spread { samples, p50, p99, longest } = times;
            write!(f, "{what:<34}{p50:>11.1}{p99:>11.1}{longest:>11.1}{samples:>9}")?;
            writeln!(f, "{:>9.2}", p50 / floor)?;
        }
        let (answers, swaps) = (self.answers_per_second, self.swaps_per_second);
        writeln!(f, "\n{:<34}{:>11}{:>11}", "PER SECOND, 64 AT A TIME", "ANSWERS", "BARE")?;
        writeln!(f, "{:<34}{answers:>11.0}{swaps:>11.0}", "500 budgets")?;
        writeln!(f, "\n{:<34}{:>11}{:>11}", "MiB RESIDENT", "IDLE", "FULL")?;
        writeln!(f, "{:<34}{:>11.1}{:>11.1}", "10,000 pods, 500 budgets", mib(self.idle), mib(self.full))
    }
}

impl Federation {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = "MiB RESIDENT, TEN CLUSTERS";
        writeln!(f, "\n{title:<34}{:>11}{:>11}{:>11}{:>12}", "1", "1,000", "RESTARTED", "AWAKE AFTER")?;
        let (idle, full, restarted) = (mib(self.idle), mib(self.full), mib(self.restarted));
        write!(f, "{:<34}{idle:>11.1}{full:>11.1}{restarted:>11.1}", "workloads, lockstep federation")?;
        writeln!(f, "{:>12}", format!("{:.1}s", self.awake))
    }
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

impl SideBySide {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (pods, size) = (self.size.pods(), &self.size);
        let ready = size.ready_after.map_or_else(|| "at once".to_owned(), |it| format!("after {it}"));
        write!(f, "\nSIDE BY SIDE: {pods} pods in {} groups of {}, ", size.groups, size.group_size)?;
        writeln!(f, "ready {ready}; a tenth of the groups at a time\n")?;
        writeln!(f, "{:<34}{:>11}{:>11}{:>11}", "SECONDS", "CREATED", "READY", "ROLLED")?;
        for roll in &self.rolls {
            let (create, rolled) = (&roll.create, &roll.roll);
            write!(f, "{:<34}{:>11.2}{:>11.2}", roll.title(), create.creates, create.ready)?;
            writeln!(f, "{:>11.2}", rolled.ready)?;
        }
        let title = "WRITES PER REPLACED POD";
        write!(f, "\n{title:<34}{:>11}{:>13}{:>11}", "CONTROLLER", "STATEFULSETS", "GARBAGE")?;
        writeln!(f, "{:>8}{:>9}{:>9}", "ALL", "EVENTS", "REFUSED")?;
        for roll in &self.rolls {
            let writes = &roll.writes;
            let per_pod = |writes: &Writes| writes.per_pod(pods);
            write!(f, "{:<34}{:>11.2}", roll.title(), per_pod(&writes.controller))?;
            write!(f, "{:>13.2}{:>11.2}", per_pod(&writes.stateful_sets), per_pod(&writes.garbage))?;
            writeln!(f, "{:>8.2}{:>9}{:>9}", writes.per_pod(pods), writes.events(), writes.refused())?;
        }
        Ok(())
    }
}

impl Roll {
    fn title(&self) -> String {
        let roles = if self.roles == 1 { "role" } else { "roles" };
        format!("{:?}, {} {roles}", self.kind, self.roles)
    }
}

impl Round {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ours, floor) = (&self.operator, &self.floor);
        let rows = [
            ("created: last create answered", ours.create.creates, floor.create.creates),
            ("created: all ready", ours.create.ready, floor.create.ready),
            ("rolled, 10% at a time: all ready", ours.roll.ready, floor.roll.ready),
        ];
        for (what, ours, floor) in rows {
            let ratio = ours / floor.max(f64::EPSILON);
            writeln!(f, "{what:<34}{:>11}{:>11}{ratio:>9.2}", format!("{ours:.2}s"), format!("{floor:.2}s"))?;
        }
        Ok(())
    }
}

fn spread(f: &mut fmt::Formatter<'_>, what: &str, spread: &Spread) -> fmt::Result {
    let Spread { samples, p50, p99, longest } = spread;
    writeln!(f, "{what:<34}{p50:>11.1}{p99:>11.1}{longest:>11.1}{samples:>9}")
}
