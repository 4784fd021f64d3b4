//! The people who can log in, with passwords that everybody may know.

use super::super::super::super::settings::TokenUser;
use super::form::Form;

/// Name, password, and whose directory it is.
const USERS: [(&str, &str, TokenUser); 2] =
    [("ann", "ann-demo-password", TokenUser::First), ("ben", "ben-demo-password", TokenUser::Second)];

/// The one who logs in with a form; nobody where the name or the password is wrong.
pub(crate) fn log_in(form: &Form) -> Option<TokenUser> {
    let (name, password) = (form.get("username")?, form.get("password")?);
    USERS.iter().find(|(known, secret, _)| *known == name && *secret == password).map(|(_, _, user)| *user)
}
