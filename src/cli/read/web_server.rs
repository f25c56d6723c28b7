//! The server of `web`: GET alone, on loopback, each request and each connection bounded.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::TcpListener;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;

/// Time for a client to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a whole connection: to send, to make the page, and to take it.
const CONNECTION_TIMEOUT: Duration = Duration::from_mins(1);
/// Bytes of a request line with its headers.
const MAX_REQUEST_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// Connections at one time; more are closed.
const MAX_CONNECTIONS: usize = 64;
/// Pages that are made at one time.
const MAX_WORKERS: usize = 4;

/// What every answer says to the browser.
const HEADERS: [(&str, &str); 8] = [
    ("cache-control", "no-store"),
    ("connection", "close"),
    ("content-security-policy", "frame-ancestors 'none'"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
];

/// An answer as text.
pub struct HttpReply {
    pub status: StatusCode,
    pub is_page: bool,
    pub body: String,
}

impl HttpReply {
    pub fn refused(status: StatusCode, why: &str) -> Self {
        Self { status, is_page: false, body: format!("{why}\n") }
    }
}

/// Answers requests for a path and a query until SIGINT or SIGTERM comes.
pub fn serve<F>(listener: TcpListener, answer: F) -> Result<()>
where
    F: Fn(&str, Option<&str>) -> HttpReply + Send + Sync + 'static,
{
    let address = listener.local_addr().context("read the address of the server")?;
    let hosts = [format!("{address}"), format!("localhost:{}", address.port())];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_WORKERS)
        .build()
        .context("start the server")?;
    let ended = runtime.block_on(async {
        #[cfg(unix)]
        let mut signals = {
            use tokio::signal::unix::{SignalKind, signal};
            [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]
        };
        #[cfg(windows)]
        let mut signals = [tokio::signal::windows::ctrl_c()?];
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let respond = Arc::new(move |request: &Request<Incoming>| {
            refusal(request, &hosts).unwrap_or_else(|| answer(request.uri().path(), request.uri().query()))
        });
        tokio::spawn(accept(listener, respond));
        poll_fn(|context| {
            let came = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if came { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        Ok::<(), std::io::Error>(())
    });
    runtime.shutdown_background();
    ended.context("run the server")
}

async fn accept<F>(listener: tokio::net::TcpListener, respond: Arc<F>)
where
    F: Fn(&Request<Incoming>) -> HttpReply + Send + Sync + 'static,
{
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, as a rule: some come back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        let respond = Arc::clone(&respond);
        let service = service_fn(move |request| {
            let respond = Arc::clone(&respond);
            async move {
                let made = tokio::task::spawn_blocking(move || respond(&request)).await;
                let failed =
                    |_| HttpReply::refused(StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made");
                Ok::<_, Infallible>(response(made.unwrap_or_else(failed)))
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_TIMEOUT)
            .max_buf_size(MAX_REQUEST_BYTES)
            .max_headers(MAX_HEADERS)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // A client that is slow, or gone, is its own problem.
            let _ended = tokio::time::timeout(CONNECTION_TIMEOUT, connection).await;
            drop(permit);
        });
    }
}

fn response(answer: HttpReply) -> Response<Full<Bytes>> {
    let kind = if answer.is_page { "text/html; charset=utf-8" } else { "text/plain; charset=utf-8" };
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    for (name, value) in HEADERS.into_iter().chain([("content-type", kind)]) {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// Returns the value of a header, `?` if it is none or not the only one.
fn only<'h>(name: &str, headers: &'h HeaderMap) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().unwrap_or("?"));
    if values.next().is_some() { Some("?") } else { first }
}

/// Returns why a request is refused before its path is looked at: other sites must not reach the server through the
/// user's browser, by a name of theirs that leads to loopback either.
fn refusal<B>(request: &Request<B>, hosts: &[String]) -> Option<HttpReply> {
    let (method, headers, target) = (request.method(), request.headers(), request.uri());
    let is_host = |host: &str| hosts.iter().any(|known| known == host);
    // `GET http://host/path`, as to a proxy: this host is the one that counts.
    let is_for_us = target.authority().is_none_or(|host| is_host(host.as_str()));
    if !is_for_us || !only("host", headers).is_some_and(is_host) {
        return Some(HttpReply::refused(StatusCode::FORBIDDEN, "this name of the host is not served"));
    }
    let is_foreign = only("origin", headers)
        .is_some_and(|origin| !origin.strip_prefix("http://").is_some_and(is_host))
        || only("sec-fetch-site", headers).is_some_and(|site| !matches!(site, "none" | "same-origin"));
    if is_foreign {
        return Some(HttpReply::refused(StatusCode::FORBIDDEN, "other sites are not served"));
    }
    (method != Method::GET).then(|| HttpReply::refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is served"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_get_from_the_own_origin_is_answered() {
        let hosts = ["127.0.0.1:80".to_owned(), "localhost:80".to_owned()];
        for (method, given, expected) in [
            (Method::GET, &[("host", "127.0.0.1:80")][..], None),
            (Method::GET, &[("host", "localhost:80"), ("origin", "http://localhost:80")], None),
            (Method::GET, &[("host", "127.0.0.1:80"), ("sec-fetch-site", "none")], None),
            (Method::GET, &[], Some(403)),
            (Method::GET, &[("host", "127.0.0.1")], Some(403)),
            (Method::GET, &[("host", "evil.example:80")], Some(403)),
            (Method::GET, &[("host", "127.0.0.1:80"), ("host", "127.0.0.1:80")], Some(403)),
            (Method::GET, &[("host", "127.0.0.1:80"), ("origin", "http://evil.example")], Some(403)),
            (Method::GET, &[("host", "127.0.0.1:80"), ("origin", "https://127.0.0.1:80")], Some(403)),
            (Method::GET, &[("host", "127.0.0.1:80"), ("origin", "null")], Some(403)),
            (Method::GET, &[("host", "127.0.0.1:80"), ("sec-fetch-site", "cross-site")], Some(403)),
            (Method::POST, &[("host", "127.0.0.1:80")], Some(405)),
            (Method::HEAD, &[("host", "127.0.0.1:80")], Some(405)),
        ] {
            let mut request = Request::builder().method(&method);
            for (name, value) in given {
                request = request.header(*name, *value);
            }
            let refused = refusal(&request.body(()).unwrap(), &hosts).map(|answer| answer.status.as_u16());
            assert_eq!(refused, expected, "{method} {given:?}");
        }
        for (target, expected) in [
            ("/a", None),
            ("http://127.0.0.1:80/a", None),
            ("http://evil.example/a", Some(403)),
            ("http://127.0.0.1:80@evil.example/a", Some(403)),
        ] {
            let request = Request::get(target).header("host", "127.0.0.1:80").body(()).unwrap();
            let refused = refusal(&request, &hosts).map(|answer| answer.status.as_u16());
            assert_eq!(refused, expected, "{target}");
        }
    }
}
