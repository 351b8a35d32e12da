//! The example of `docs/library.md`, run as it is, and every line that it prints.

#[path = "../crates/pod/examples/embed.rs"]
#[expect(dead_code, reason = "`main` is for the example alone")]
mod embed;

#[tokio::test]
async fn the_embedding_example_does_what_its_page_says() {
    let home = tempfile::tempdir().unwrap();
    let mut printed = Vec::new();
    embed::run(home.path(), &mut printed).await.unwrap();
    insta::assert_snapshot!(String::from_utf8(printed).unwrap(), @r#"
    > Order what is running out.
      #1 is pending: Order tea
      #2 is pending: Put it on the shelf
      Order {"item":"tea","pieces":500}
      Order {"item":"coffee","pieces":5}
      #1 is inprogress: Order tea
      refused: at most 100 pieces at a time
      refused: permission denied: we sell tea only
      Order {"item":"tea","pieces":50}
      #1 is completed: Order tea
    50 tea are on their way.

    == back again, with 2 tasks

    > The tea has come.
      #2 is completed: Put it on the shelf
    The shelf is full.
    #1 [completed] Order tea
    #2 [completed] Put it on the shelf
    "#);
}
