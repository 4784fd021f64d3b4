//! Clients: who they are, and what they may ask for.

use serde_json::{Value, json};

/// The way in which a client proves who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientAuthMethod {
    /// A public client, which cannot.
    None,
    /// A secret, in the header `Authorization`.
    SecretBasic,
    /// A secret, in the form.
    SecretPost,
    /// A secret, in either place; only clients that are known from the start have this.
    Secret,
    /// A signed assertion (RFC 7523).
    PrivateKeyJwt,
}

impl ClientAuthMethod {
    /// The method with this name in a registration.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Self::None,
            "client_secret_basic" => Self::SecretBasic,
            "client_secret_post" => Self::SecretPost,
            "private_key_jwt" => Self::PrivateKeyJwt,
            _ => return None,
        })
    }
}

/// Something that a client can give for tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantType {
    AuthorizationCode,
    RefreshToken,
    ClientCredentials,
    DeviceCode,
}

impl GrantType {
    pub(crate) const ALL: [Self; 4] =
        [Self::AuthorizationCode, Self::RefreshToken, Self::ClientCredentials, Self::DeviceCode];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|grant| grant.name() == name)
    }
}

/// A client.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) method: ClientAuthMethod,
    pub(crate) secret: Option<String>,
    /// The keys (RFC 7517) with which it signs.
    pub(crate) keys: Vec<Value>,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) grants: Vec<GrantType>,
}

/// The clients that need no registration.
pub(crate) fn known() -> [Client; 3] {
    let redirect_uris = ["http://127.0.0.1/callback", "http://localhost/callback"].map(str::to_owned).to_vec();
    let app = Client {
        id: "demo-app".to_owned(),
        name: "Demo app".to_owned(),
        method: ClientAuthMethod::None,
        secret: None,
        keys: Vec::new(),
        redirect_uris,
        grants: vec![GrantType::AuthorizationCode, GrantType::RefreshToken, GrantType::DeviceCode],
    };
    let service = Client {
        id: "demo-service".to_owned(),
        name: "Demo service".to_owned(),
        method: ClientAuthMethod::Secret,
        secret: Some("demo-service-secret".to_owned()),
        grants: GrantType::ALL.to_vec(),
        ..app.clone()
    };
    let signer = Client {
        id: "demo-signer".to_owned(),
        name: "Demo signer".to_owned(),
        method: ClientAuthMethod::PrivateKeyJwt,
        keys: vec![json!({
            "kty": "EC",
            "crv": "P-256",
            "kid": "demo-signer-key",
            "x": "7Q96iEUCSXOL56A-h96h53OMQftgL2T1nsaXxL8kKA0",
            "y": "ZB9wm_qAIA5W5cw4gQwduOS4qV0NsONs0A1oge4aS3w",
        })],
        grants: GrantType::ALL.to_vec(),
        ..app.clone()
    };
    [app, service, signer]
}
