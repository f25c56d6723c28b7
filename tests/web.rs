//! The pages in a browser, seen from the wire.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::sandbox::{Running, Sandbox, WILLING_AGENT};

fn recorded_scene() -> Sandbox {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 Say <script>alert(1)</script>").agent_script(WILLING_AGENT).validate("true");
    scene.ralph("").code(0);
    scene
}

/// Starts the server; returns it with the host and the path that it printed.
fn served(scene: &Sandbox) -> (Running<'_>, String, String) {
    let mut server = scene.spawn("web");
    server.wait_for_text("Ctrl-C");
    let printed = server.so_far();
    let address = printed.lines().next().and_then(|line| line.strip_prefix("http://")).expect("an address");
    let (host, path) = address.split_once('/').expect("a path");
    (server, host.to_owned(), format!("/{path}"))
}

/// Returns the status and all of the answer.
fn ask(host: &str, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(host).expect("it listens");
    // A refused request may be answered before all of it is sent.
    let _refused = stream.write_all(request.as_bytes()).is_err();
    let mut bytes = Vec::new();
    // It may be cut off behind the answer.
    let _cut_off = stream.read_to_end(&mut bytes).is_err();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    (status, text)
}

fn get(host: &str, path: &str) -> (u16, String) {
    ask(host, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

#[test]
fn the_pages_are_served_to_who_has_the_address_and_the_record_stays_text() {
    let scene = recorded_scene();
    let id = scene.session().id().to_owned();
    scene.tasks("- [ ] T002 Two").ralph("").code(0);
    let before = scene.everything();
    let (mut server, host, root) = served(&scene);
    let (status, index) = get(&host, &root);
    assert_eq!(status, 200, "{index}");
    let link = format!("href=\"{root}{id}\"");
    for part in ["<h1>1 of 1 task done.</h1>", &link, "connect-src 'self'", "nosniff"] {
        assert!(index.contains(part), "no `{part}` in {index}");
    }
    let (status, page) = get(&host, &format!("{root}{id}"));
    assert_eq!(status, 200, "{page}");
    assert!(
        page.contains("Say &lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert"),
        "{page}"
    );
    assert_eq!(page.matches("<script>").count(), 2, "that of the page, and the one that looks for news");
    let (status, state) = get(&host, &format!("{root}{id}?state"));
    let state = state.rsplit("\r\n").next().expect("a body").to_owned();
    assert_eq!((status, state.len()), (200, 16), "{state}");
    assert!(page.contains(&format!("data-state=\"{state}\"")), "{page}");
    server.signal(Signal::INT);
    server.wait().code(0);
    assert_eq!(scene.everything(), before, "serving writes nothing");
}

#[test]
fn a_page_knows_when_its_session_has_grown() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One\n- [ ] T002 Two").agent_script(WILLING_AGENT).validate("true");
    scene.ralph("-n 1").code(4);
    let (mut server, host, root) = served(&scene);
    let (_, before) = get(&host, &format!("{root}?state"));
    scene.ralph("resume").code(0);
    let (status, after) = get(&host, &format!("{root}?state"));
    assert_eq!(status, 200);
    assert_ne!(before.rsplit("\r\n").next(), after.rsplit("\r\n").next());
    server.signal(Signal::TERM);
    server.wait().code(0);
}

#[test]
fn before_anything_is_recorded_the_index_says_how_to_begin_and_follows() {
    let scene = Sandbox::new();
    scene.tasks("- [ ] T001 One").agent_script(WILLING_AGENT).validate("true");
    let (mut server, host, root) = served(&scene);
    let (status, index) = get(&host, &root);
    assert_eq!(status, 200, "{index}");
    for part in
        ["<h1>Nothing is recorded yet</h1>", "<code class=\"command\">specify ralph</code>", "data-state="]
    {
        assert!(index.contains(part), "no `{part}` in {index}");
    }
    assert!(!index.contains("<table"), "{index}");
    let (_, before) = get(&host, &format!("{root}?state"));
    scene.ralph("").code(0);
    let (_, after) = get(&host, &format!("{root}?state"));
    assert_ne!(before.rsplit("\r\n").next(), after.rsplit("\r\n").next());
    let (_, index) = get(&host, &root);
    assert!(index.contains("<h1>1 of 1 task done.</h1>"), "{index}");
    server.signal(Signal::INT);
    server.wait().code(0);
}

#[test]
fn requests_of_others_are_refused_and_none_holds_up_another() {
    let scene = recorded_scene();
    let (mut server, host, root) = served(&scene);
    let port = host.rsplit(':').next().expect("a port").to_owned();
    // These begin a request, and never end it.
    let slow: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(&host).expect("it listens");
            stream.write_all(b"GET / HTTP/1.1\r\nHo").expect("it is taken");
            stream
        })
        .collect();
    let headers = |headers: &str| format!("GET {root} HTTP/1.1\r\n{headers}\r\n\r\n");
    for (request, expected) in [
        (format!("GET /0123456789abcdef0123456789abcdef/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404),
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404),
        (format!("GET {root}../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404),
        (format!("GET {root}%2e%2e%2fetc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404),
        (format!("GET {root}20000101-000000-00000000 HTTP/1.1\r\nHost: {host}\r\n\r\n"), 404),
        (headers("X-Nothing: 1"), 403),
        (headers(&format!("Host: evil.example:{port}")), 403),
        (headers(&format!("Host: {host}\r\nOrigin: http://evil.example")), 403),
        (headers(&format!("Host: {host}\r\nSec-Fetch-Site: cross-site")), 403),
        (headers(&format!("Host: localhost:{port}")), 200),
        (format!("POST {root} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc"), 405),
        (format!("GET {root} HTTP/1.1\r\nHost: {host}\r\nX-Big: {}\r\n\r\n", "a".repeat(64 << 10)), 431),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ] {
        let (status, text) = ask(&host, &request);
        let is_cut_off = expected == 431 && text.is_empty();
        assert!(status == expected || is_cut_off, "{status}, not {expected}, for {request:.200}: {text}");
    }
    assert_eq!(get(&host, &root).0, 200);
    drop(slow);
    scene.ralph(format!("web --port {port}").as_str()).code(1).stderr_has("is in use");
    server.signal(Signal::TERM);
    server.wait().code(0);
}
