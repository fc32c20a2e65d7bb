"""Addresses, keys, endpoints."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "host", ("--host",), Kind.LIST, Group.SERVER,
        Text("Address"), Text("Address that the server listens on. 127.0.0.1 is this computer only."),
        default="127.0.0.1", env="LLAMA_ARG_HOST",
    ),
    Option(
        "port", ("--port",), Kind.INT, Group.SERVER,
        Text("Port"), Text("Port that the server listens on."),
        low=0, high=65535, default="8080", env="LLAMA_ARG_PORT", strict=True,
    ),
    Option(
        "reuse-port", ("--reuse-port",), Kind.FLAG, Group.SERVER,
        Text("Share the port"), Text("Lets several programs listen on the same port."),
        default="off", env="LLAMA_ARG_REUSE_PORT",
    ),
    Option(
        "path", ("--path",), Kind.FOLDER, Group.SERVER,
        Text("Folder of static files"), Text("Folder that is served instead of the built-in page."),
        env="LLAMA_ARG_STATIC_PATH",
    ),
    Option(
        "cors-origins", ("--cors-origins",), Kind.LIST, Group.SERVER,
        Text("Allowed origins"), Text("Web pages that may use the server from a browser."),
        default="*", env="LLAMA_ARG_CORS_ORIGINS",
    ),
    Option(
        "cors-methods", ("--cors-methods",), Kind.LIST, Group.SERVER,
        Text("Allowed methods"), Text("HTTP methods that web pages may use."),
        default="GET, POST, DELETE, OPTIONS", env="LLAMA_ARG_CORS_METHODS",
    ),
    Option(
        "cors-headers", ("--cors-headers",), Kind.LIST, Group.SERVER,
        Text("Allowed headers"), Text("HTTP headers that web pages may send."),
        default="*", env="LLAMA_ARG_CORS_HEADERS",
    ),
    Option(
        "cors-credentials", ("--cors-credentials",), Kind.PAIR, Group.SERVER,
        Text("Allow credentials"), Text("Web pages may send cookies and keys."),
        negations=("--no-cors-credentials",), default="on", env="LLAMA_ARG_CORS_CREDENTIALS",
    ),
    Option(
        "api-prefix", ("--api-prefix",), Kind.TEXT, Group.SERVER,
        Text("Path prefix"), Text("Path under which everything is served, without a slash at its end."),
        env="LLAMA_ARG_API_PREFIX",
    ),
    Option(
        "api-key", ("--api-key",), Kind.TEXT, Group.SERVER,
        Text("API key"), Text("Key that requests must carry."),
        env="LLAMA_API_KEY", appends=True, secret=True,
    ),
    Option(
        "api-key-file", ("--api-key-file",), Kind.PATH, Group.SERVER,
        Text("API key file"), Text("File of keys that requests may carry, one a line."),
        env="LLAMA_ARG_API_KEY_FILE",
    ),
    Option(
        "ssl-key-file", ("--ssl-key-file",), Kind.PATH, Group.SERVER,
        Text("TLS key"), Text("Private key for https. Needs a certificate too."),
        env="LLAMA_ARG_SSL_KEY_FILE",
    ),
    Option(
        "ssl-cert-file", ("--ssl-cert-file",), Kind.PATH, Group.SERVER,
        Text("TLS certificate"), Text("Certificate for https. Needs a key too."),
        env="LLAMA_ARG_SSL_CERT_FILE",
    ),
    Option(
        "timeout", ("-to", "--timeout"), Kind.INT, Group.SERVER,
        Text("Timeout"), Text("How long a connection may stand still."),
        low=0, default="3600", unit=Text("s"), env="LLAMA_ARG_TIMEOUT",
    ),
    Option(
        "sse-ping-interval", ("--sse-ping-interval",), Kind.INT, Group.SERVER,
        Text("Ping interval"), Text("How often a silent stream is kept alive. -1 is never."),
        low=-1, default="30", unit=Text("s"), env="LLAMA_ARG_SSE_PING_INTERVAL",
    ),
    Option(
        "metrics", ("--metrics",), Kind.FLAG, Group.SERVER,
        Text("Metrics"), Text("Opens /metrics, from which Paddock reads counters."),
        default="off", env="LLAMA_ARG_ENDPOINT_METRICS",
    ),
    Option(
        "props", ("--props",), Kind.FLAG, Group.SERVER,
        Text("Change properties"), Text("Lets requests change the server's properties."),
        default="off", env="LLAMA_ARG_ENDPOINT_PROPS",
    ),
    Option(
        "slots", ("--slots",), Kind.PAIR, Group.SERVER,
        Text("Slot states"), Text("Opens /slots, from which Paddock reads live progress."),
        negations=("--no-slots",), default="on", env="LLAMA_ARG_ENDPOINT_SLOTS",
    ),
    Option(
        "sleep-idle-seconds", ("--sleep-idle-seconds",), Kind.INT, Group.SERVER,
        Text("Sleep when idle"), Text("Frees the model after so long without a request. -1 is never."),
        low=-1, default="-1", unit=Text("s"), strict=True,
    ),
    Option(
        "ui", ("--ui", "--webui"), Kind.PAIR, Group.SERVER,
        Text("Web page"), Text("Serves llama.cpp's own chat page."),
        negations=("--no-ui", "--no-webui"), default="on", env="LLAMA_ARG_UI",
    ),
    Option(
        "ui-config", ("--ui-config", "--webui-config"), Kind.JSON, Group.SERVER,
        Text("Web page settings"), Text("JSON with settings of the chat page."),
        env="LLAMA_ARG_UI_CONFIG",
    ),
    Option(
        "ui-config-file", ("--ui-config-file", "--webui-config-file"), Kind.PATH, Group.SERVER,
        Text("Web page settings file"), Text("JSON file with settings of the chat page."),
        env="LLAMA_ARG_UI_CONFIG_FILE",
    ),
    Option(
        "ui-mcp-proxy", ("--ui-mcp-proxy", "--webui-mcp-proxy"), Kind.PAIR, Group.SERVER,
        Text("MCP proxy"), Text("Lets the chat page reach other servers through this one. Not for open networks."),
        negations=("--no-ui-mcp-proxy", "--no-webui-mcp-proxy"), default="off", env="LLAMA_ARG_UI_MCP_PROXY",
    ),
    Option(
        "tools", ("--tools",), Kind.LIST, Group.SERVER,
        Text("Built-in tools"),
        Text("Tools that read and write files and run commands on this computer. Not for open networks."),
        env="LLAMA_ARG_TOOLS",
    ),
    Option(
        "tools-runtime", ("--tools-runtime",), Kind.TEXT, Group.SERVER,
        Text("Where tools run"), Text("A container or another host in which tools run."),
        env="LLAMA_ARG_TOOLS_RUNTIME",
    ),
    Option(
        "mcp-servers-config", ("--mcp-servers-config",), Kind.PATH, Group.SERVER,
        Text("MCP servers file"), Text("JSON file of MCP servers that the server starts. Not for open networks."),
        env="LLAMA_ARG_MCP_SERVERS_CONFIG",
    ),
    Option(
        "mcp-servers-json", ("--mcp-servers-json",), Kind.JSON, Group.SERVER,
        Text("MCP servers"), Text("JSON of MCP servers that the server starts. Not for open networks."),
        env="LLAMA_ARG_MCP_SERVERS_JSON",
    ),
    Option(
        "agent", ("-ag", "--agent"), Kind.PAIR, Group.SERVER,
        Text("Agent"), Text("All tools and the proxy at once. Not for open networks."),
        negations=("-no-ag", "--no-agent"), default="off", env="LLAMA_ARG_AGENT",
    ),
)
