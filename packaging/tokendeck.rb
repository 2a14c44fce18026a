# Homebrew: the static binary on Linux, built from source on macOS.
class Tokendeck < Formula
  desc "Terminal dashboard and local JSON API for crypto-token analysts"
  homepage "@URL@"
  version "@VERSION@"
  license "MIT"

  on_linux do
    on_intel do
      url "@URL@/releases/download/v@VERSION@/tokendeck-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA_X86_64@"
    end
    on_arm do
      url "@URL@/releases/download/v@VERSION@/tokendeck-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA_AARCH64@"
    end
  end

  on_macos do
    url "@URL@/releases/download/v@VERSION@/tokendeck-@VERSION@-source.tar.gz"
    sha256 "@SHA_SOURCE@"
    depends_on "rust" => :build
  end

  def install
    if OS.linux?
      bin.install "tokendeck"
      man1.install "tokendeck.1.gz"
      bash_completion.install "completions/tokendeck.bash" => "tokendeck"
      fish_completion.install "completions/tokendeck.fish"
      zsh_completion.install "completions/_tokendeck"
    else
      system "cargo", "install", *std_cargo_args
      generate_completions_from_executable(bin/"tokendeck", "completions")
      (man1/"tokendeck.1").write Utils.safe_popen_read(bin/"tokendeck", "man")
    end
  end

  test do
    assert_equal "tokendeck #{version}", shell_output("#{bin}/tokendeck --version").strip
    system bin/"tokendeck", "demo", "demo", "--tokens", "3", "--days", "40"
    assert_match '"status":"ok"', shell_output("#{bin}/tokendeck get /healthz --data demo")
  end
end
