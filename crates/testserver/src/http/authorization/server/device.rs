//! Logins of devices without a browser (RFC 8628).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::json;

use super::super::super::refused::json_response;
use super::authorize::scopes;
use super::book::{DEVICE_INTERVAL, DEVICE_LIFETIME, DeviceDecision};
use super::client::GrantType;
use super::form::Form;
use super::oauth_error::OAuthError;
use super::{Asked, AuthorizationServer, DEVICE, page, resource, user};

const ABOUT: &str = "A device asks for access. Type the code that it shows.";

/// The page on which a person types the code of a device.
pub(crate) fn ask(query: &Form) -> Response {
    form(StatusCode::OK, ABOUT, query)
}

fn form(status: StatusCode, about: &str, given: &Form) -> Response {
    let code = page::escape(given.get("user_code").unwrap_or_default());
    let field = format!("<label>Code <input name=\"user_code\" value=\"{code}\" required></label>\n");
    page::login(status, DEVICE, about, &field, &Form::parse(""))
}

impl AuthorizationServer {
    pub(crate) async fn begin_device(&self, asked: &Asked<'_>, form: &Form) -> Result<Response, OAuthError> {
        let client = self.proven_client(asked, form).await?;
        if !client.grants.contains(&GrantType::DeviceCode) {
            return Err(OAuthError::new("unauthorized_client", "the client did not register the grant of devices"));
        }
        let (scopes, resource) = (scopes(form)?, resource(form.get("resource"), &asked.origin)?);
        let (device_code, user_code) = self.book.lock().begin_device(&client.id, scopes, resource, asked.now)?;
        let page = format!("{}{DEVICE}", asked.origin);
        let answer = json!({
            "device_code": device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={user_code}"),
            "expires_in": DEVICE_LIFETIME.as_secs(),
            "interval": DEVICE_INTERVAL.as_secs(),
        });
        let mut answer = json_response(StatusCode::OK, &answer);
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(answer)
    }

    /// Takes the form of the page.
    pub(crate) fn approve_device(&self, asked: &Asked<'_>, given: &Form) -> Response {
        let decision = match (given.get("decision"), user::log_in(given)) {
            (Some("deny"), _) => DeviceDecision::Denied,
            (_, Some(user)) => DeviceDecision::Allowed(user),
            (_, None) => return form(StatusCode::FORBIDDEN, "The name or the password is wrong.", given),
        };
        let user_code = given.get("user_code").unwrap_or_default();
        if self.book.lock().decide_device(user_code, decision, asked.now) {
            page::sentence(StatusCode::OK, "Done. You can go back to the device.")
        } else {
            form(StatusCode::BAD_REQUEST, "No device shows this code.", given)
        }
    }
}
