use super::*;

#[test]
fn text_from_a_log_is_no_markdown() {
    let text = "[link](x) <b> `code` # | ~~x~~ **b** _i_ ![i](y) &amp; @user \\";
    insta::assert_snapshot!(escaped(text), @r"\[link\](x) \<b\> \`code\` \# \| \~\~x\~\~ \*\*b\*\* \_i\_ \!\[i\](y) \&amp; \@user \\");
}
