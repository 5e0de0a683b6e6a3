using Microsoft.AspNetCore.Authentication.JwtBearer;

var builder = WebApplication.CreateBuilder(args);
builder.Services.AddAuthentication(JwtBearerDefaults.AuthenticationScheme).AddJwtBearer(options =>
{
    options.Authority = "https://auth.example.org/o"; // it reads the metadata of OpenID Connect there
    options.Audience = "https://orders.example.org"; // the URI of the resource
    options.MapInboundClaims = false;
    options.TokenValidationParameters.ValidTypes = ["at+jwt"];
    options.TokenValidationParameters.ValidAlgorithms = ["RS256"];
});
builder.Services.AddAuthorization(options => options.AddPolicy("read", policy => policy
    .RequireAuthenticatedUser()
    .RequireAssertion(context => !context.User.HasClaim(claim => claim.Type == "cnf"))
    .RequireAssertion(context => context.User.FindFirst("scope")?.Value.Split(' ').Contains("read") ?? false)));

var app = builder.Build();
app.MapGet("/orders", (HttpContext context) => new { of = context.User.FindFirst("sub")?.Value }).RequireAuthorization("read");
app.Run();
