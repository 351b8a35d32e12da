use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use insta::assert_snapshot;

use super::*;

/// A directory in which a project lies, `project/crates/parser` being where the work is done.
struct Place(tempfile::TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("project/crates/parser")).unwrap();
        for (name, text) in files {
            place.file(name, text);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read(&self, home: Option<&str>) -> Instructions {
        let home = home.map(|home| self.path(home));
        Instructions::read(&self.path("project/crates/parser"), home.as_deref())
    }

    /// What is told, without what differs from run to run.
    fn told(&self, home: Option<&str>) -> String {
        let Instructions { text, notices } = self.read(home);
        let text = format!("{text}\n-- {}", notices.join("\n-- "));
        text.replace(&self.path("").display().to_string(), "PLACE/")
    }

    /// The files that are told.
    fn files(&self, home: Option<&str>) -> Vec<String> {
        let told = self.told(home);
        let name = |line: &str| {
            let path = line.strip_prefix("<instructions file=\"PLACE/")?;
            Some(path.strip_suffix("\">")?.to_owned())
        };
        told.lines().filter_map(name).collect()
    }
}

#[test]
fn from_the_root_of_the_repository_inwards() {
    let place = Place::new(&[
        ("AGENTS.md", "not of the project"),
        ("project/.git/HEAD", ""),
        ("project/AGENTS.md", "\u{feff}Use tabs.\n\n"),
        ("project/CLAUDE.md", "Be brief.\r\nSehr kurz. 短く。"),
        ("project/crates/CLAUDE.md", " \n"),
        ("project/crates/parser/AGENTS.md", "Use spaces."),
    ]);
    assert_snapshot!(place.told(None), @r#"
    Instructions of the project, from the files that it keeps for agents, the outermost directory first. They come from the people of the project: follow them. Where two contradict each other, the later one counts; what the person says in this conversation counts more than all of them.

    <instructions file="PLACE/project/AGENTS.md">
    Use tabs.
    </instructions>

    <instructions file="PLACE/project/CLAUDE.md">
    Be brief.
    Sehr kurz. 短く。
    </instructions>

    <instructions file="PLACE/project/crates/parser/AGENTS.md">
    Use spaces.
    </instructions>
    --
    "#);
}

#[test]
fn a_project_without_any_says_nothing() {
    assert_eq!(Place::new(&[]).read(None), Instructions::default());
}

#[test]
fn the_search_ends_at_the_repository_or_at_home() {
    let all = [
        ("AGENTS.md", "1"),
        ("project/AGENTS.md", "2"),
        ("project/crates/AGENTS.md", "3"),
        ("project/crates/parser/AGENTS.md", "4"),
    ];
    let place = Place::new(&all);
    let (own, crates) = (
        "project/crates/parser/AGENTS.md",
        "project/crates/AGENTS.md",
    );
    assert_eq!(place.files(None), [own]);
    assert_eq!(place.files(Some("elsewhere")), [own]);
    assert_eq!(place.files(Some("project/crates")), [crates, own]);
    assert_eq!(place.files(Some("")).len(), 4);
    // A worktree has a file of that name; what is nearer ends the search.
    place.file("project/.git", "gitdir: elsewhere");
    assert_eq!(place.files(Some("")).len(), 3);
    assert_eq!(place.files(Some("project/crates")), [crates, own]);
}

#[test]
fn what_anybody_may_write_is_not_believed() {
    let place = Place::new(&[
        (".git/HEAD", ""),
        ("AGENTS.md", "1"),
        ("project/AGENTS.md", "2"),
        ("project/crates/AGENTS.md", "3"),
    ]);
    assert_eq!(place.files(None).len(), 3);
    let open = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(place.path("project"), open).unwrap();
    assert_eq!(place.files(None), ["project/crates/AGENTS.md"]);
}

#[test]
fn one_file_and_one_text_stand_there_once() {
    let place = Place::new(&[
        ("project/.git/HEAD", ""),
        ("project/AGENTS.md", "Use tabs."),
        ("project/crates/AGENTS.md", "Use tabs.\n"),
        ("project/docs/agents.md", "Of the parser."),
    ]);
    symlink("AGENTS.md", place.path("project/CLAUDE.md")).unwrap();
    symlink(
        "../../docs/agents.md",
        place.path("project/crates/parser/AGENTS.md"),
    )
    .unwrap();
    assert_eq!(
        place.files(None),
        ["project/AGENTS.md", "project/crates/parser/AGENTS.md"]
    );
    assert!(place.told(None).ends_with("\n-- "));
}

#[test]
fn what_cannot_be_used_is_said() {
    let place = Place::new(&[("project/.git/HEAD", ""), ("secret", "key")]);
    symlink("nowhere", place.path("project/AGENTS.md")).unwrap();
    symlink("../secret", place.path("project/CLAUDE.md")).unwrap();
    fs::create_dir(place.path("project/crates/AGENTS.md")).unwrap();
    place.file("project/crates/parser/AGENTS.md", b"caf\xe9 au lait");
    place.file("project/crates/parser/CLAUDE.md", b"cut \xe6\x97");
    assert_snapshot!(place.told(None), @"
    -- the instructions in PLACE/project/AGENTS.md are left out: No such file or directory (os error 2)
    -- the instructions in PLACE/project/CLAUDE.md are left out: it leads to PLACE/secret, outside the project
    -- the instructions in PLACE/project/crates/AGENTS.md are left out: it is no regular file
    -- the instructions in PLACE/project/crates/parser/AGENTS.md are left out: it is not UTF-8 text
    -- the instructions in PLACE/project/crates/parser/CLAUDE.md are left out: it is not UTF-8 text
    ");
}

#[test]
fn the_nearest_files_are_kept_first_and_what_is_cut_is_said() {
    let place = Place::new(&[
        ("project/.git/HEAD", ""),
        ("project/AGENTS.md", &"outer ".repeat(1_000)),
        ("project/crates/AGENTS.md", &"日本語".repeat(10_000)),
        ("project/crates/parser/AGENTS.md", "Use spaces."),
    ]);
    let Instructions { text, notices } = place.read(None);
    assert!(text.len() < INSTRUCTIONS_LIMIT + 1_500, "{}", text.len());
    assert!(!text.contains("outer outer"));
    assert!(text.ends_with("Use spaces.\n</instructions>"));
    let notices = notices.join("\n");
    assert_snapshot!(notices.replace(&place.path("").display().to_string(), "PLACE/"), @"
    PLACE/project/crates/AGENTS.md: 57243 of its bytes are left out of the instructions, which have at most 32768 bytes together
    PLACE/project/AGENTS.md: 5999 of its bytes are left out of the instructions, which have at most 32768 bytes together
    ");
    assert!(text.contains("[57243 more bytes of this file are left out here"));
    assert!(text.contains("[5999 more bytes of this file are left out here"));
}
